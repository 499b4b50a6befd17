// Gradients of attention, distances, grouped products and normalizations.
#include <gtest/gtest.h>

#include <limits>

#include "tests/exporter/gradients/check.h"

namespace tern {
namespace {

using testing::expect_gradients;
using testing::integers;
using testing::noise;
using testing::one_node;
using Values = std::vector<ValueId>;

TEST(AttentionGradients, CausalScaledAndShared) {
  for (const bool causal : {false, true}) {
    for (const bool scaled : {false, true}) {
      std::vector<Attr> attrs = {attr(AttrKey::causal, Dim(causal))};
      if (scaled) attrs.push_back(attr_number(AttrKey::scale, 0.7));
      expect_gradients({noise({3, 2}), noise({4, 2}, 2), noise({4, 3}, 3)}, one_node(Op::attention, attrs));
      // Two query heads share each key head; a single batch of keys serves all.
      expect_gradients({noise({2, 4, 3, 2}), noise({1, 2, 4, 2}, 2), noise({2, 2, 4, 3}, 3)},
                       one_node(Op::attention, attrs));
    }
  }
}

TEST(AttentionGradients, Masks) {
  for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{3, 4}, {4, 1, 4}, {1, 3, 4}, {2, 4, 3, 4}}) {
    expect_gradients({noise({2, 4, 3, 2}), noise({2, 2, 4, 2}, 2), noise({2, 2, 4, 3}, 3), noise(sizes, 4)},
                     one_node(Op::attention));
  }
  expect_gradients({noise({3, 2}), noise({2, 2}, 2), noise({2, 3}, 3)}, [](Builder& b, const Values& in) {
    const std::uint8_t seen[] = {1, 1, 0, 0, 0, 1};  // the second query sees no key
    return Values{b.add(Op::attention, {in[0], in[1], in[2], b.constant(DType::boolean, {3, 2}, seen)})};
  });
}

TEST(DistanceGradients, EveryNorm) {
  for (const double p : {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, std::numeric_limits<double>::infinity()}) {
    expect_gradients({noise({2, 3, 4}), noise({1, 2, 4}, 2)}, one_node(Op::cdist, {attr_number(AttrKey::p, p)}));
  }
  expect_gradients({noise({26, 2}), noise({3, 2}, 2)}, one_node(Op::cdist));  // by products
}

TEST(GroupedProductGradients, RowsOfGroups) {
  expect_gradients({noise({6, 3}), noise({3, 3, 2}, 2)}, [](Builder& b, const Values& in) {
    const std::int32_t ends[] = {2, 2, 5};
    return Values{b.add(Op::grouped_matmul, {in[0], in[1], b.constant(DType::i32, {3}, ends)})};
  });
}

TEST(NormalizationGradients, EveryOperand) {
  const Attr epsilon = attr_number(AttrKey::epsilon, 0.1);
  const auto first = [](Op op, std::vector<Attr> attrs) {
    return [=](Builder& b, const Values& in) { return Values{b.add(op, in, attrs)}; };
  };
  expect_gradients({noise({2, 3, 4}), noise({3, 4}, 2), noise({3, 4}, 3)},
                   first(Op::layer_norm, {attr(AttrKey::k, Dim(2)), epsilon}));
  expect_gradients({noise({2, 3, 4}), noise({4}, 2)}, first(Op::rms_norm, {attr(AttrKey::k, Dim(1)), epsilon}));
  expect_gradients({noise({2, 3})}, first(Op::rms_norm, {attr(AttrKey::k, Dim(2)), epsilon}));
  expect_gradients({noise({2, 4, 3}), noise({4}, 2), noise({4}, 3)},
                   first(Op::group_norm, {attr(AttrKey::groups, Dim(2)), epsilon}));
  expect_gradients({noise({2, 3, 2, 2}), noise({3}, 2), noise({3}, 3, 0.5, 2), noise({3}, 4), noise({3}, 5)},
                   first(Op::batch_norm, {epsilon}));
  expect_gradients({noise({2, 3}), noise({3}, 2), noise({3}, 3, 0.5, 2)}, first(Op::batch_norm, {epsilon}));
}

}  // namespace
}  // namespace tern
