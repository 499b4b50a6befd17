// Shared by the attacks on programs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>

#include "loader/validate.h"
#include "tests/loader/sample.h"

namespace tern::test {

inline constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

/// Expects the change to break the rule: opening fails, and validate reports the rule.
inline void expect_rule(const std::string& rule, const std::function<void(Program&)>& change) {
  const std::vector<std::byte> bytes = changed(change);
  EXPECT_NE(open_error(bytes).find("rule " + rule), std::string::npos)
      << rule << " expected, not: " << open_error(bytes);
  const std::vector<std::string> rules = rules_broken(bytes);
  EXPECT_NE(std::find(rules.begin(), rules.end(), rule), rules.end()) << rule;
}

inline Function& forward(Program& p) {
  return p.functions[0];
}

/// The first node of the op in `forward`.
inline Node& node(Program& p, Op op) {
  for (Node& n : forward(p).nodes) {
    if (n.op == op) return n;
  }
  throw std::logic_error("the sample has no such node");
}

}  // namespace tern::test
