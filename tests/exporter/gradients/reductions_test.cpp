// Gradients of reductions, selections and softmax.
#include <gtest/gtest.h>

#include "schema/kinds.h"
#include "tests/exporter/gradients/check.h"

namespace tern {
namespace {

using testing::doubles;
using testing::expect_gradients;
using testing::gradients_of;
using testing::noise;
using Values = std::vector<ValueId>;

testing::BuildNodes reduction(const std::string& kind, std::vector<std::int64_t> axes, bool keep = false,
                              DType dtype = DType::f64) {
  return [=](Builder& b, const Values& in) -> Values { return {b.reduce(in[0], kind, axes, keep, dtype)}; };
}

TEST(ReductionGradients, AlongAxes) {
  for (const char* kind : {"sum", "mean", "prod", "max", "min", "var"}) {
    SCOPED_TRACE(kind);
    expect_gradients({noise({2, 3, 4})}, reduction(kind, {1}));
    expect_gradients({noise({2, 3, 4})}, reduction(kind, {0, 2}, true));
    expect_gradients({noise({2, 3, 4})}, reduction(kind, {}));
  }
}

TEST(ReductionGradients, OfComplexNumbers) {
  const Tensor x = noise({3, 4}, 1, -1, 1, DType::c128);
  for (const char* kind : {"sum", "mean", "prod"}) expect_gradients({x}, reduction(kind, {1}, false, DType::c128));
  expect_gradients({x}, reduction("var", {1}));
}

TEST(ReductionGradients, ProductsWithZeros) {
  expect_gradients({doubles({3, 4}, {1, 0, 3, 2, 0, 0, 5, 1, 2, 3, 4, 5})}, reduction("prod", {1}));
}

/// Products of the other elements are as wide as the result: in float32 the last element's would be 0.
TEST(ReductionGradients, AProductWiderThanItsOperand) {
  const auto g = gradients_of({doubles({4}, {1e-30, 1e-30, 1e30, 1e30})}, [](Builder& b, const Values& v) -> Values {
    return {b.reduce(b.cast(v[0], DType::f32), "prod", {0}, false, DType::f64)};
  });
  EXPECT_NEAR(g[0][3], 1e-30, 1e-36);
}

TEST(ReductionGradients, TiesShare) {
  const auto g = gradients_of({doubles({4}, {1, 3, 3, 2})}, reduction("max", {0}));
  EXPECT_EQ(g[0], (std::vector<double>{0, 0.5, 0.5, 0}));
}

TEST(ReductionGradients, SelectedElements) {
  for (int kind = 0; kind < kSelectKinds; ++kind) {
    SCOPED_TRACE(select_kind_name(kind));
    for (std::int64_t keep : {0, 1}) {
      expect_gradients({noise({3, 5})}, [&](Builder& b, const Values& in) -> Values {
        return {b.add(
            Op::select_reduce, in,
            {attr(AttrKey::kind, kind), attr(AttrKey::axis, 1), attr(AttrKey::k, 2), attr(AttrKey::keepdims, keep)})};
      });
    }
  }
}

TEST(ReductionGradients, Softmax) {
  for (std::int64_t log : {0, 1}) {
    expect_gradients({noise({3, 5, 2})}, [&](Builder& b, const Values& in) -> Values {
      return {b.add(Op::softmax, in, {attr(AttrKey::axis, 1), attr(AttrKey::log, log)})};
    });
  }
}

}  // namespace
}  // namespace tern
