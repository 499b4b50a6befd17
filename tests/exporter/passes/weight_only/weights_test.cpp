// Weights of 8 bits with a conversion: operands of products and embeddings, and results against sums in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "dtypes/convert.h"
#include "exporter/passes/passes.h"
#include "schema/passes/dead_code.h"
#include "tests/random_floats.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::floats;
using testing::TestProgram;
using testing::values_of;
using Floats = std::vector<float>;
using Ops = std::vector<Op>;

constexpr std::int64_t kWeightOnlyWeightsColumns = 40, kWeightsDepth = 96, kWeightOnlyWeightsRows = 3;

/// Applies the importer's passes and returns the remaining ops.
Ops rewrite(TestProgram& p) {
  remove_dead_code(p.program());
  read_byte_weights(p.program());
  fold_constants(p.program());
  store_weights_by_columns(p.program());
  Ops ops;
  for (const Node& n : p.program().functions[0].nodes) ops.push_back(n.op);
  return ops;
}

/// Values of a type, as bytes and as floats.
struct Bytes {
  std::vector<std::uint8_t> codes;
  Floats numbers;
  Bytes(DType type, std::int64_t count) : codes(static_cast<std::size_t>(count)), numbers(codes.size()) {
    for (std::size_t i = 0; i < codes.size(); ++i) {
      codes[i] = static_cast<std::uint8_t>(i * 37 + i / 11);
      if (is_floating(type)) codes[i] &= 0xb7;  // finite
    }
    convert(codes.data(), type, numbers.data(), DType::f32, count);
  }
};

/// A program with a weight [40, 96] of 8 bits, as in torch.nn.Linear, and x [3, 96].
struct LinearProgram {
  TestProgram p;
  Bytes bytes;
  ValueId x, w;
  Floats input = test::random_floats(kWeightOnlyWeightsRows * kWeightsDepth, 1),
         scales = test::random_floats(kWeightOnlyWeightsColumns, 2),
         bias = test::random_floats(kWeightOnlyWeightsColumns, 3);
  explicit LinearProgram(DType type, DType activations = DType::f32)
      : bytes(type, kWeightOnlyWeightsColumns * kWeightsDepth),
        x(p.input(activations, {kWeightOnlyWeightsRows, kWeightsDepth})),
        w(p.b().constant(type, {kWeightOnlyWeightsColumns, kWeightsDepth}, bytes.codes.data())) {}

  ValueId scale(std::vector<std::int64_t> sizes) { return p.b().constant(DType::f32, sizes, scales.data()); }
  ValueId times(ValueId a, ValueId b) { return p.b().expr("a * b", {{"a", a}, {"b", b}}, p.b().dtype(a)); }

  /// Expects x w^T, times the scales and plus the bias, if present.
  void expect_products(bool scaled, bool biased, double relative = 1e-6) {
    Session s(p.model().prepare());
    const Floats y = values_of(s.run({floats({kWeightOnlyWeightsRows, kWeightsDepth}, input)})[0]);
    ASSERT_EQ(y.size(), static_cast<std::size_t>(kWeightOnlyWeightsRows * kWeightOnlyWeightsColumns));
    for (std::int64_t i = 0; i < kWeightOnlyWeightsRows; ++i) {
      for (std::int64_t j = 0; j < kWeightOnlyWeightsColumns; ++j) {
        const auto column = static_cast<std::size_t>(j);
        const double factor = scaled ? static_cast<double>(scales[column]) : 1;
        double sum = 0, size = 0;
        for (std::int64_t k = 0; k < kWeightsDepth; ++k) {
          const double product = static_cast<double>(input[static_cast<std::size_t>(i * kWeightsDepth + k)]) *
                                 static_cast<double>(bytes.numbers[static_cast<std::size_t>(j * kWeightsDepth + k)]) *
                                 factor;
          sum += product;
          size += std::abs(product);
        }
        if (biased) sum += static_cast<double>(bias[column]);
        EXPECT_NEAR(static_cast<double>(y[static_cast<std::size_t>(i * kWeightOnlyWeightsColumns + j)]), sum,
                    (size + 1) * relative)
            << i << ", " << j;
      }
    }
  }

  DType weight_dtype() { return p.program().states[0].type.dtype; }
};

constexpr DType kWeightsTypes[] = {DType::i8, DType::u8, DType::f8_e4m3fn, DType::f8_e5m2};

TEST(WeightOnly, ProductsReadAConvertedWeightInItsOwnBits) {
  for (const DType type : kWeightsTypes) {
    LinearProgram m(type);
    m.p.output(m.p.b().matmul(m.x, m.p.b().transpose(m.p.b().cast(m.w, DType::f32), 0, 1)));
    EXPECT_EQ(rewrite(m.p), (Ops{Op::permute, Op::matmul})) << name_of(type);
    ASSERT_EQ(m.p.program().states.size(), 1u);
    EXPECT_EQ(m.weight_dtype(), type);
    m.expect_products(false, false);
  }
}

TEST(WeightOnly, ScalesOfColumnsMoveBehindTheProduct) {
  for (const DType type : kWeightsTypes) {
    LinearProgram m(type);
    const ValueId scaled = m.times(m.p.b().cast(m.w, DType::f32), m.scale({kWeightOnlyWeightsColumns, 1}));
    const ValueId bias = m.p.b().constant(DType::f32, {kWeightOnlyWeightsColumns}, m.bias.data());
    m.p.output(m.p.b().add(Op::matmul, {m.x, m.p.b().transpose(scaled, 0, 1), bias}));
    const Ops ops = rewrite(m.p);
    EXPECT_EQ(std::ranges::count(ops, Op::pointwise), 1) << "the scale and the bias";
    EXPECT_EQ(ops.back(), Op::pointwise);
    EXPECT_EQ(m.weight_dtype(), type);
    m.expect_products(true, true);
  }
}

TEST(WeightOnly, ScalesOfAWeightByColumns) {
  LinearProgram m(DType::i8);
  const ValueId turned = m.p.b().transpose(m.w, 0, 1);
  m.p.output(m.p.b().matmul(m.x, m.times(m.p.b().cast(turned, DType::f32), m.scale({kWeightOnlyWeightsColumns}))));
  EXPECT_EQ(rewrite(m.p), (Ops{Op::permute, Op::matmul, Op::pointwise}));
  m.expect_products(true, false);
}

TEST(WeightOnly, WeightsThatAddAxesAreFollowed) {
  LinearProgram m(DType::i8);
  const ValueId scaled = m.times(m.p.b().cast(m.w, DType::f32), m.scale({kWeightOnlyWeightsColumns, 1}));
  const ValueId seen = m.p.b().transpose(m.p.b().unsqueeze(scaled, 0), 1, 2);
  m.p.output(m.p.b().matmul(m.x, seen));
  rewrite(m.p);
  const Function& f = m.p.program().functions[0];
  const auto product = std::ranges::find(f.nodes, Op::matmul, &Node::op);
  ASSERT_NE(product, f.nodes.end());
  EXPECT_EQ(f.values[static_cast<std::size_t>(product->inputs[1])].type,
            (TensorType{DType::i8, {1, kWeightsDepth, kWeightOnlyWeightsColumns}}));
  m.expect_products(true, false);
}

TEST(WeightOnly, ScalesAlongTheSumStay) {
  LinearProgram m(DType::i8);
  const Floats along = test::random_floats(kWeightsDepth, 4);
  const ValueId scale = m.p.b().constant(DType::f32, {1, kWeightsDepth}, along.data());
  m.p.output(m.p.b().matmul(m.x, m.p.b().transpose(m.times(m.p.b().cast(m.w, DType::f32), scale), 0, 1)));
  read_byte_weights(m.p.program());
  EXPECT_EQ(m.p.program().functions[0].nodes.back().op, Op::matmul);
  EXPECT_EQ(m.p.program().functions[0].nodes.size(), 4u);
}

TEST(WeightOnly, ConversionsThatRoundStay) {
  for (const DType between : {DType::f8_e4m3fn, DType::u8, DType::boolean}) {
    LinearProgram m(DType::i8);
    const ValueId w = m.p.b().cast(m.p.b().cast(m.w, between), DType::f32);
    m.p.output(m.p.b().matmul(m.x, m.p.b().transpose(w, 0, 1)));
    read_byte_weights(m.p.program());
    const Node& product = m.p.program().functions[0].nodes.back();
    EXPECT_EQ(m.p.b().dtype(product.inputs[1]), DType::f32) << name_of(between);
  }
}

TEST(WeightOnly, ExactConversionsMayFollowEachOther) {
  LinearProgram m(DType::i8);
  const ValueId w = m.p.b().cast(m.p.b().cast(m.p.b().cast(m.w, DType::i32), DType::bf16), DType::f32);
  m.p.output(m.p.b().matmul(m.x, m.p.b().transpose(w, 0, 1)));
  EXPECT_EQ(rewrite(m.p), (Ops{Op::permute, Op::matmul}));
  m.expect_products(false, false);
}

TEST(WeightOnly, WrittenWeightsStay) {
  LinearProgram m(DType::i8);
  m.p.program().states[0].is_mutable = true;
  m.p.output(m.p.b().matmul(m.x, m.p.b().transpose(m.p.b().cast(m.w, DType::f32), 0, 1)));
  EXPECT_EQ(rewrite(m.p), (Ops{Op::pointwise, Op::permute, Op::matmul}));
}

TEST(WeightOnly, ResultsKeepTheirTypeInBfloat16) {
  LinearProgram m(DType::i8, DType::bf16);
  const ValueId scaled =
      m.times(m.p.b().cast(m.w, DType::bf16), m.p.b().cast(m.scale({kWeightOnlyWeightsColumns, 1}), DType::bf16));
  m.p.output(m.p.b().matmul(m.x, m.p.b().transpose(scaled, 0, 1)));
  rewrite(m.p);
  const Function& f = m.p.program().functions[0];
  EXPECT_EQ(f.values[static_cast<std::size_t>(f.outputs[0].value)].type.dtype, DType::bf16);
  const auto product = std::ranges::find(f.nodes, Op::matmul, &Node::op);
  ASSERT_NE(product, f.nodes.end());
  EXPECT_EQ(f.values[static_cast<std::size_t>(product->inputs[1])].type.dtype, DType::i8);
  EXPECT_EQ(f.values[static_cast<std::size_t>(product->outputs[0])].type.dtype, DType::f32)
      << "the sums are rounded once, behind the scale";
}

TEST(WeightOnly, GroupsReadTheirWeightsInTheirOwnBits) {
  TestProgram p;
  const Bytes bytes(DType::i8, 2 * 4 * 5);
  const ValueId x = p.input(DType::f32, {3, 4}), w = p.b().constant(DType::i8, {2, 5, 4}, bytes.codes.data());
  const std::int64_t ends[] = {1, 3};
  const ValueId offsets = p.b().constant(DType::i64, {2}, ends);
  const ValueId turned = p.b().transpose(p.b().cast(w, DType::f32), 1, 2);
  p.output(p.b().add(Op::grouped_matmul, {x, turned, offsets}));
  EXPECT_EQ(rewrite(p), (Ops{Op::permute, Op::grouped_matmul}));
  const Floats input = test::random_floats(12, 1);
  Session s(p.model().prepare());
  const Floats y = values_of(s.run({floats({3, 4}, input)})[0]);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 4; ++k)
        sum +=
            static_cast<double>(input[i * 4 + k]) * static_cast<double>(bytes.numbers[((i < 1 ? 0 : 5) + j) * 4 + k]);
      EXPECT_NEAR(static_cast<double>(y[i * 5 + j]), sum, 1e-4);
    }
  }
}

TEST(WeightOnly, RowsOfATableAreSelectedBeforeTheyAreConverted) {
  TestProgram p;
  const Bytes bytes(DType::i8, 50 * 8);
  const Floats scales = test::random_floats(50, 2);
  const ValueId index = p.input(DType::i64, {2, 3}), table = p.b().constant(DType::i8, {50, 8}, bytes.codes.data());
  const ValueId scale = p.b().constant(DType::f32, {50, 1}, scales.data());
  const ValueId wide = p.b().expr("w * s", {{"w", p.b().cast(table, DType::f32)}, {"s", scale}}, DType::f32);
  p.output(p.b().index_select(wide, index, 0));
  const Ops ops = rewrite(p);
  EXPECT_EQ(std::ranges::count(ops, Op::index_select), 2);
  EXPECT_EQ(p.program().states[0].type.dtype, DType::i8);
  Tensor rows(DType::i64, {2, 3});
  const std::int64_t requested[] = {0, 49, 7, 7, 21, 48};
  std::ranges::copy(requested, rows.span<std::int64_t>().begin());
  Session s(p.model().prepare());
  const Floats y = values_of(s.run({rows})[0]);
  ASSERT_EQ(y.size(), 48u);
  for (std::size_t i = 0; i < 6; ++i) {
    const auto row = static_cast<std::size_t>(requested[i]);
    for (std::size_t k = 0; k < 8; ++k) EXPECT_EQ(y[i * 8 + k], bytes.numbers[row * 8 + k] * scales[row]);
  }
}

}  // namespace
}  // namespace tern
