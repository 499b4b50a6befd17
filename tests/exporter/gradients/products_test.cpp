// Gradients of matrix products.
#include <gtest/gtest.h>

#include "tests/exporter/gradients/check.h"

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

TEST(ProductGradients, Complex) {
  expect_gradients({noise({2, 2, 3}, 1, -1, 1, DType::c128), noise({3, 2}, 2, -1, 1, DType::c128),
                    noise({2}, 3, -1, 1, DType::c128)},
                   product);
}

}  // namespace
}  // namespace tern
