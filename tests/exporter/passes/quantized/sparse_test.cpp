// Which matrices become 2:4 sparse values, and of which programs.
#include "exporter/passes/quantized/sparse.h"

#include <gtest/gtest.h>

#include "exporter/passes/passes.h"
#include "tests/random_floats.h"
#include "tests/runtime/support.h"

namespace tern::quantized {
namespace {

using testing::floats;
using testing::TestProgram;

std::vector<float> back(const Fitted& f, std::int64_t rows, std::int64_t columns) {
  const QuantizedMatrix m{f.element, rows, columns, f.blocks};
  std::vector<float> y(static_cast<std::size_t>(rows * columns));
  for (std::int64_t r = 0; r < rows; ++r) dequantize_row(m, f.bytes.data(), r, 0, columns, y.data() + r * columns);
  return y;
}

/// Two nonzero values of each four, one, or none.
std::vector<float> sparse_numbers(std::int64_t count) {
  std::vector<float> x = test::random_floats(count, 3);
  for (std::size_t i = 0; i < x.size(); i += 4) {
    const std::size_t first = i / 4 % 4, second = (i / 4 + 1 + i / 16 % 3) % 4;
    for (std::size_t k = 0; k < 4; ++k) {
      if ((k != first || i / 4 % 7 == 0) && (k != second || i / 4 % 5 == 0)) x[i + k] = 0;
    }
  }
  return x;
}

TEST(SparseFit, GivesEveryNumberBack) {
  constexpr std::int64_t kRows = 33, kColumns = 120;
  const std::vector<float> x = sparse_numbers(kRows * kColumns);
  const auto f = fit_two_of_four({x, DType::f32, kRows, kColumns});
  ASSERT_TRUE(f.has_value());
  EXPECT_EQ(f->blocks, two_of_four());
  EXPECT_EQ(back(*f, kRows, kColumns), x);
}

TEST(SparseFit, RefusesThreeOfFourAndRowsThatEndWithinAByte) {
  std::vector<float> x(64);
  x[40] = x[41] = x[43] = 1;
  EXPECT_FALSE(fit_two_of_four({x, DType::f32, 2, 32}).has_value());
  x[41] = -0.0F;
  EXPECT_TRUE(fit_two_of_four({x, DType::f32, 2, 32}).has_value());
  EXPECT_FALSE(fit_two_of_four({{1, 0, 0, 0}, DType::f32, 1, 4}).has_value());
  x[41] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(fit_two_of_four({x, DType::f32, 2, 32}).has_value());
}

/// x times a weight. The program scatters the kept elements to positions 0 and 2, or holds the whole weight.
TestProgram linear(bool stored_whole, const std::vector<float>& retained) {
  constexpr std::int64_t kRows = 16, kKept = 32;
  TestProgram p;
  Builder& b = p.b();
  ValueId w;
  if (stored_whole) {
    std::vector<float> whole;
    for (const float k : retained) whole.insert(whole.end(), {k, 0});
    w = b.expr("x * 1", {{"x", b.constant(DType::f32, {kRows, 2 * kKept}, whole.data())}}, DType::f32);
  } else {
    const ValueId k = b.constant(DType::f32, {kRows, kKept}, retained.data());
    const ValueId pairs =
        b.expr("i == 0 ? x : 0", {{"i", b.iota(2, DType::i64)}, {"x", b.unsqueeze(k, -1)}}, DType::f32);
    w = b.reshape(pairs, {kRows, 2 * kKept});
  }
  p.output(b.matmul(p.input(DType::f32, {3, 2 * kKept}), b.transpose(w, 0, 1)));
  return p;
}

std::vector<float> run(const TestProgram& p, const std::vector<float>& x) {
  Session s(p.model().prepare());
  const Tensor y = s.run({floats({3, 64}, x)})[0].contiguous();
  return {y.span<float>().begin(), y.span<float>().end()};
}

TEST(SparseFit, ProgramsThatKeepTwoOfFourHaveOneValue) {
  const std::vector<float> retained = test::random_floats(16 * 32, 1), x = test::random_floats(3 * 64, 2);
  for (const bool is_full : {false, true}) {
    TestProgram p = linear(is_full, retained);
    const std::vector<float> before = run(p, x);
    read_quantized_weights(p.program());
    ASSERT_EQ(p.program().states.size(), 1u);
    EXPECT_EQ(p.program().states[0].type.quantized(), !is_full) << "zeros in the file are not compressed";
    if (is_full) continue;
    EXPECT_EQ(p.program().states[0].type, (TensorType{DType::f32, {16, 64}, two_of_four()}));
    const std::vector<float> after = run(p, x);
    for (std::size_t i = 0; i < after.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-4);
  }
}

}  // namespace
}  // namespace tern::quantized
