// Experts, batches of matrices and convolutions with weights quantized at export: results equal sums in double over the
// dequantized weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "dtypes/convert.h"
#include "exporter/passes/passes.h"
#include "exporter/passes/quantize/matrix.h"
#include "tests/random_floats.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::floats;
using testing::TestProgram;
using Floats = std::vector<float>;

quantize::Recipe recipe_of(std::string_view name) {
  const quantize::Format* const f = quantize::find_format(name);
  return {f, f->block};
}

/// The values of float rows in the format.
Floats quantized_rows(const Floats& w, std::int64_t rows, std::int64_t columns, std::string_view format) {
  const quantize::Recipe recipe = recipe_of(format);
  const quantize::Quantized q =
      quantize::quantize({reinterpret_cast<const std::byte*>(w.data()), DType::f32, rows, columns, columns, 1}, recipe);
  const QuantizedMatrix m{recipe.format->element, rows, columns, q.blocks};
  Floats y(w.size());
  for (std::int64_t r = 0; r < rows; ++r) dequantize_row(m, q.bytes.data(), r, 0, columns, y.data() + r * columns);
  return y;
}

Floats numbers_of(const Tensor& t) {
  const Tensor dense = t.contiguous();
  const auto* at = static_cast<const float*>(dense.data());
  return {at, at + dense.numel()};
}

/// The only state is a quantized value of these sizes.
void expect_one_value(const Program& p, const Dims& shape) {
  ASSERT_EQ(p.states.size(), 1u);
  EXPECT_TRUE(p.states[0].type.quantized());
  EXPECT_EQ(p.states[0].type.shape, shape);
}

double dot(const float* x, const float* w, std::int64_t k) {
  double sum = 0;
  for (std::int64_t i = 0; i < k; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(w[i]);
  return sum;
}

constexpr std::int64_t kUsesExperts = 3, kUsesRows = 11, kN = 40, kK = 64;

/// [e, k, n] of [e, n, k].
Floats transpose_experts(const Floats& w) {
  Floats t(w.size());
  for (std::int64_t e = 0; e < kUsesExperts; ++e) {
    for (std::int64_t n = 0; n < kN; ++n) {
      for (std::int64_t k = 0; k < kK; ++k)
        t[static_cast<std::size_t>((e * kK + k) * kN + n)] = w[static_cast<std::size_t>((e * kN + n) * kK + k)];
    }
  }
  return t;
}

TEST(QuantizeUses, ExpertsAreOneValueByColumns) {
  const Floats w = test::random_floats(kUsesExperts * kN * kK, 1), x = test::random_floats(kUsesRows * kK, 2);
  for (const quantize::Format& f : quantize::formats()) {
    for (const bool transposed : {false, true}) {  // stored [e, n, k], or [e, k, n]
      SCOPED_TRACE(std::string(f.name));
      TestProgram p;
      const ValueId in = p.input(DType::f32, {kUsesRows, kK}), ends = p.input(DType::i32, {kUsesExperts});
      const ValueId weight = transposed
                                 ? p.b().transpose(p.b().constant(DType::f32, {kUsesExperts, kN, kK}, w.data()), 1, 2)
                                 : p.b().constant(DType::f32, {kUsesExperts, kK, kN}, transpose_experts(w).data());
      p.output(p.b().add(Op::grouped_matmul, {in, weight, ends}));
      const QuantizeReport report = quantize_weights(p.program(), {{recipe_of(f.name), {}}}, {});
      ASSERT_EQ(report.weights.size(), 1u) << (report.unquantized.empty() ? "" : report.unquantized[0].reason);
      expect_one_value(p.program(), {kUsesExperts, kN, kK});
      Session s(p.model().prepare());
      Tensor offsets(DType::i32, {kUsesExperts});
      const std::int32_t end[] = {2, 2, 10};  // an expert without rows; the last row has none
      std::ranges::copy(end, offsets.span<std::int32_t>().begin());
      const Floats y = numbers_of(s.run({floats({kUsesRows, kK}, x), offsets})[0]),
                   numbers = quantized_rows(w, kUsesExperts * kN, kK, f.name);
      for (std::int64_t r = 0; r < kUsesRows; ++r) {
        const std::int64_t expert = r < 2 ? 0 : 2;
        for (std::int64_t n = 0; n < kN; ++n) {
          const double sum = r == 10 ? 0 : dot(x.data() + r * kK, numbers.data() + (expert * kN + n) * kK, kK);
          ASSERT_NEAR(static_cast<double>(y[static_cast<std::size_t>(r * kN + n)]), sum, 1e-4) << r << ", " << n;
        }
      }
    }
  }
}

TEST(QuantizeUses, BatchesAreOneValue) {
  const Floats w = test::random_floats(kUsesExperts * kN * kK, 1), x = test::random_floats(kUsesExperts * 2 * kK, 2);
  TestProgram p;
  const ValueId in = p.input(DType::f32, {kUsesExperts, 2, kK});
  p.output(p.b().matmul(in, p.b().constant(DType::f32, {kUsesExperts, kK, kN}, transpose_experts(w).data())));
  ASSERT_EQ(quantize_weights(p.program(), {{recipe_of("int4"), {}}}, {}).weights.size(), 1u);
  expect_one_value(p.program(), {kUsesExperts, kN, kK});
  Session s(p.model().prepare());
  const Floats y = numbers_of(s.run({floats({kUsesExperts, 2, kK}, x)})[0]),
               numbers = quantized_rows(w, kUsesExperts * kN, kK, "int4");
  for (std::int64_t i = 0; i < kUsesExperts * 2; ++i) {
    for (std::int64_t n = 0; n < kN; ++n)
      ASSERT_NEAR(static_cast<double>(y[static_cast<std::size_t>(i * kN + n)]),
                  dot(x.data() + i * kK, numbers.data() + (i / 2 * kN + n) * kK, kK), 1e-4);
  }
}

TEST(QuantizeUses, ConvolutionsReadAMatrixOfKernels) {
  constexpr std::int64_t kOut = 24, kIn = 32, kSide = 3, kImage = 6, kColumns = kIn * kSide * kSide;
  const Floats w = test::random_floats(kOut * kColumns, 1), x = test::random_floats(kIn * kImage * kImage, 2),
               bias = test::random_floats(kOut, 3);
  for (const quantize::Format& f : quantize::formats()) {
    SCOPED_TRACE(std::string(f.name));
    TestProgram p;
    const ValueId in = p.input(DType::f32, {1, kIn, kImage, kImage}), add = p.input(DType::f32, {kOut});
    p.output(p.b().add(Op::convolution, {in, p.b().constant(DType::f32, {kOut, kIn, kSide, kSide}, w.data()), add},
                       {attr(AttrKey::before, Dims{1, 1}), attr(AttrKey::after, Dims{1, 1})}));
    ASSERT_EQ(quantize_weights(p.program(), {{recipe_of(f.name), {}}}, {}).weights.size(), 1u);
    expect_one_value(p.program(), {kOut, kColumns});
    Session s(p.model().prepare());
    const Floats y = numbers_of(s.run({floats({1, kIn, kImage, kImage}, x), floats({kOut}, bias)})[0]),
                 numbers = quantized_rows(w, kOut, kColumns, f.name);
    ASSERT_EQ(y.size(), static_cast<std::size_t>(kOut * kImage * kImage));
    for (std::int64_t o = 0; o < kOut; ++o) {
      for (std::int64_t index = 0; index < kImage * kImage; ++index) {
        double sum = static_cast<double>(bias[static_cast<std::size_t>(o)]);
        for (std::int64_t c = 0; c < kColumns; ++c) {
          const std::int64_t row = index / kImage + c / kSide % kSide - 1, column = index % kImage + c % kSide - 1;
          if (row < 0 || row >= kImage || column < 0 || column >= kImage) continue;
          sum +=
              static_cast<double>(numbers[static_cast<std::size_t>(o * kColumns + c)]) *
              static_cast<double>(x[static_cast<std::size_t>((c / (kSide * kSide) * kImage + row) * kImage + column)]);
        }
        ASSERT_NEAR(static_cast<double>(y[static_cast<std::size_t>(o * kImage * kImage + index)]), sum, 1e-4);
      }
    }
  }
}

TEST(QuantizeUses, DepthwiseWeightsStay) {
  const Floats w = test::random_floats(64 * 9, 1);
  TestProgram p;
  const ValueId in = p.input(DType::f32, {1, 64, 6, 6});
  p.output(p.b().add(Op::convolution, {in, p.b().constant(DType::f32, {64, 1, 3, 3}, w.data()), kNoValue},
                     {attr(AttrKey::groups, Dim(64))}));
  p.program().states[0].kind = State::Kind::parameter;
  const QuantizeReport report = quantize_weights(p.program(), {{recipe_of("int8"), {}}}, {});
  ASSERT_EQ(report.unquantized.size(), 1u);
  EXPECT_EQ(report.unquantized[0].reason, "it belongs to a convolution with fewer than 8 channels in a group");
}

}  // namespace
}  // namespace tern
