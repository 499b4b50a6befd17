// Gradients of matrix products.
#include <gtest/gtest.h>

#include "exporter/gradients/differentiate.h"
#include "tests/exporter/gradients/check.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::expect_gradients;
using testing::noise;
using Values = std::vector<ValueId>;

Values product(Builder& b, const Values& in) {
  return {b.add(Op::matmul, in)};
}

TEST(ProductGradients, Matrices) {
  expect_gradients({noise({2, 3}), noise({3, 4}, 2)}, product);
}

TEST(ProductGradients, BroadcastBatchesAndBias) {
  expect_gradients({noise({2, 1, 2, 3}), noise({3, 3, 4}, 2), noise({2, 1}, 3)}, product);
}

/// A linear layer: all batches share the transposed weight.
Values linear(Builder& b, const Values& in) {
  return {b.add(Op::matmul, {in[0], b.permute(in[1], {1, 0}), in[2]})};
}

TEST(ProductGradients, LinearLayers) {
  expect_gradients({noise({5, 3}), noise({4, 3}, 2), noise({4}, 3)}, linear);
  expect_gradients({noise({2, 5, 3}), noise({4, 3}, 2), noise({4}, 3)}, linear);
  expect_gradients({noise({2, 5, 3}, 1, -1, 1, DType::c128), noise({4, 3}, 2, -1, 1, DType::c128),
                    noise({4}, 3, -1, 1, DType::c128)},
                   linear);
}

/// The weight's gradient is a single product without a copy: x^T g would need a transpose.
TEST(ProductGradients, AWeightsGradientIsOneProduct) {
  testing::TestProgram p;
  const ValueId x = p.input(DType::f32, {2, 5, 3}), w = p.input(DType::f32, {4, 3}), bias = p.input(DType::f32, {4});
  const ValueId y = linear(p.b(), {x, w, bias})[0];
  const ValueId g = differentiate(p.b(), std::vector<GradientSeed>{{y, y}}, std::vector<ValueId>{w})[0];
  for (const Node& n : p.b().function().nodes) {
    EXPECT_NE(n.op, Op::reduce);
    EXPECT_TRUE(n.outputs[0] != g || n.op == Op::matmul);
  }
}

TEST(ProductGradients, Complex) {
  expect_gradients({noise({2, 2, 3}, 1, -1, 1, DType::c128), noise({3, 2}, 2, -1, 1, DType::c128),
                    noise({2}, 3, -1, 1, DType::c128)},
                   product);
}

}  // namespace
}  // namespace tern
