// Small handmade programs for the runtime's tests.
#pragma once

#include <gtest/gtest.h>
#include <tern/tern.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exporter/builder.h"
#include "exporter/constants.h"

namespace tern::testing {

/// A program under construction, with a single entry function "forward".
class TestProgram {
 public:
  TestProgram() : program_(std::make_shared<Program>()) {
    program_->source = std::make_shared<ExtendableSource>(nullptr, 0);
    program_->functions.emplace_back();
    program_->functions[0].name = "forward";
    program_->functions[0].entry = true;
    builder_ = std::make_unique<Builder>(*program_, 0);
  }
  Builder& b() { return *builder_; }
  Program& program() { return *program_; }

  ValueId input(DType dtype, Dims shape, std::uint32_t function = 0) {
    Function& f = program_->functions[function];
    const std::string name = "in" + std::to_string(f.inputs.size());
    const ValueId v = Builder(*program_, function).add_value({dtype, std::move(shape)}, name);
    f.inputs.push_back({FunctionInput::Kind::user, v, 0, name, {}});
    return v;
  }
  void output(ValueId v, std::uint32_t function = 0) {
    Function& f = program_->functions[function];
    f.outputs.push_back({FunctionOutput::Kind::tensor, v, "out" + std::to_string(f.outputs.size())});
  }
  /// A float32 state with these values; mutable if some function writes back to the state.
  ValueId state(const std::vector<std::int64_t>& sizes, const std::vector<float>& values, bool is_mutable) {
    const ValueId v = builder_->constant(DType::f32, sizes, values.data());
    State& s = program_->states.back();
    s.name = "state" + std::to_string(program_->states.size() - 1);
    s.is_mutable = is_mutable;
    return v;
  }
  void write_back(std::uint32_t state, ValueId v) {
    program_->functions[0].writebacks.push_back({WriteBack::Target::state, state, v});
  }
  std::uint32_t add_body() {
    program_->functions.emplace_back();
    return static_cast<std::uint32_t>(program_->functions.size() - 1);
  }
  Model model() const { return Model(program_); }

 private:
  std::shared_ptr<Program> program_;
  std::unique_ptr<Builder> builder_;
};

inline Tensor floats(std::vector<std::int64_t> sizes, const std::vector<float>& values) {
  Tensor t(DType::f32, std::move(sizes));
  std::copy(values.begin(), values.end(), t.span<float>().begin());
  return t;
}

inline std::vector<float> values_of(const Tensor& t) {
  const auto s = t.span<const float>();
  return {s.begin(), s.end()};
}

/// Message of the Error that `work` throws, of the code `expected` if given; "no error" if `work` throws none.
inline std::string message_of(const std::function<void()>& work, std::optional<ErrorCode> expected = {}) {
  try {
    work();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), expected.value_or(e.code()));
    return e.what();
  }
  return "no error";
}
inline std::string invalid_argument_of(const std::function<void()>& work) {
  return message_of(work, ErrorCode::invalid_argument);
}

}  // namespace tern::testing
