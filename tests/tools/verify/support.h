// Shared by the tests of tern verify: both sides of a small program.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/runtime/support.h"
#include "tools/verify/side.h"

namespace tern::test {

/// Nodes added from now on belong to this module.
inline void set_module(testing::TestProgram& p, const std::string& module) {
  p.program().origins.push_back({"aten.linear.default", module, "model.py:1"});
  p.b().set_origin(static_cast<std::int32_t>(p.program().origins.size() - 1));
}

struct Sides {
  Side test, reference;
};

inline Sides sides_of(const testing::TestProgram& p, Precision precision, const std::vector<std::string>& keep = {}) {
  const std::shared_ptr<const Program> program = p.model().program();
  Sides s;
  s.test = {keeping(program, keep), 0, {}, 0, "test"};
  s.test.options.precision = precision;
  s.reference = {keeping_all(program), 0, {}, 0, "float32"};
  for (Side* side : {&s.test, &s.reference}) {
    side->options.weight_cache = "off";
    side->options.threads = 1;
  }
  return s;
}

}  // namespace tern::test
