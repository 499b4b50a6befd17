// A program with a single weight of given values.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exporter/builder.h"
#include "schema/program.h"

namespace tern::test {

class NumbersSource : public StorageSource {
 public:
  explicit NumbersSource(std::vector<float> numbers) : numbers_(std::move(numbers)) {}
  std::span<const std::byte> bytes(std::uint32_t) override { return std::as_bytes(std::span(numbers_)); }

 private:
  std::vector<float> numbers_;
};

/// Returns x * 2 and the weight's sum. x is float32[rows, 3]; everything else is called `name`.
inline Program weight_program(const std::string& name, TensorType type, std::vector<std::int64_t> strides,
                              std::vector<float> numbers) {
  Program p;
  p.storages = {{numbers.size() * sizeof(float)}};
  p.source = std::make_shared<NumbersSource>(std::move(numbers));
  State s;
  s.name = name;
  s.type = std::move(type);
  s.strides = std::move(strides);
  p.states = {s};
  p.origins = {{name, name, name}};
  p.functions.resize(1);
  Builder b(p, 0);
  Function& f = b.function();
  f.name = "forward";
  f.entry = true;
  const ValueId x = b.add_value({DType::f32, {p.pool.symbol("rows", 1, 9), 3}}, "x"), w = b.add_value(s.type, name);
  f.inputs = {{FunctionInput::Kind::user, x, 0, "x", {}}, {FunctionInput::Kind::state, w, 0, name, {}}};
  b.set_origin(0, {{name, name}});
  f.outputs = {{FunctionOutput::Kind::tensor, b.expr("x * 2", {{"x", x}}, DType::f32), "twice"},
               {FunctionOutput::Kind::tensor, b.reduce(w, "sum", {0}, true, DType::f32), "sum"}};
  return p;
}

}  // namespace tern::test
