// addcdiv, bit for bit: PyTorch's CPU kernel, and in reproducible mode PyTorch's GPU kernel; both in plain C++.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::floats;
using testing::TestProgram;
using testing::values_of;
using Floats = std::vector<float>;

constexpr std::int64_t kSize = 1000;
constexpr float kValue = -0.37F;

struct Operands {
  Floats x, a, b;
};

Operands random_operands() {
  std::mt19937 engine(7);
  std::normal_distribution<float> normal;
  Operands o;
  for (std::int64_t i = 0; i < kSize; ++i) {
    o.x.push_back(normal(engine));
    o.a.push_back(normal(engine));
    o.b.push_back(std::fabs(normal(engine)) + 1);
  }
  return o;
}

constexpr const char* kAddcdiv = "x + value * a / b";

/// Appends the instructions `more` to the formula.
Floats run(const char* formula, bool reproducible, const std::vector<Instruction>& more = {}) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {kSize}), a = p.input(DType::f32, {kSize}), b = p.input(DType::f32, {kSize});
  p.output(p.b().expr(formula, {{"x", x}, {"value", double{kValue}}, {"a", a}, {"b", b}}, DType::f32));
  std::vector<Instruction>& code = p.program().functions[0].nodes.back().expr.code;
  code.insert(code.end(), more.begin(), more.end());
  Session s(p.model().prepare({.reproducible = reproducible}));
  const Operands o = random_operands();
  return values_of(s.run({floats({kSize}, o.x), floats({kSize}, o.a), floats({kSize}, o.b)})[0]);
}

Floats expected(float (*formula)(float x, float a, float b)) {
  const Operands o = random_operands();
  Floats v;
  for (std::size_t i = 0; i < kSize; ++i) v.push_back(formula(o.x[i], o.a[i], o.b[i]));
  return v;
}

// aten/src/ATen/native/cpu/PointwiseOpsKernel.cpp.
float cpu_addcdiv(float x, float a, float b) {
  return x + (kValue * a) / b;
}
// aten/src/ATen/native/cuda/PointwiseOpsKernel.cu.
float gpu_addcdiv(float x, float a, float b) {
  return std::fma(kValue, a / b, x);
}

TEST(Definitions, AddcdivIsThatOfCpusByDefault) {
  EXPECT_EQ(run(kAddcdiv, false), expected(cpu_addcdiv));
}

// The formula decides, not the operator's name: an archive need not store names.
TEST(Definitions, ReproducibleAddcdivIsThatOfGpus) {
  EXPECT_NE(expected(cpu_addcdiv), expected(gpu_addcdiv));
  EXPECT_EQ(run(kAddcdiv, true), expected(gpu_addcdiv));
}

TEST(Definitions, LongerFormulasStay) {
  const auto negative = [](float x, float a, float b) { return -cpu_addcdiv(x, a, b); };
  EXPECT_EQ(run("-(x + value * a / b)", true), expected(negative));
}

// Archives are arbitrary: other readers of a subexpression must still find its value.
TEST(Definitions, SharedPartsAreLeftAlone) {
  // x, value, a, their product, b, the quotient, the sum.
  const std::vector<Instruction> times_product{{.op = Scalar::mul, .dtype = DType::f32, .a = 6, .b = 3}};
  const auto shared = [](float x, float a, float b) { return (x + (kValue * a) / b) * (kValue * a); };
  EXPECT_EQ(run(kAddcdiv, true, times_product), expected(shared));
}

}  // namespace
}  // namespace tern
