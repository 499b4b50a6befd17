// Gradients of gathers and scatters.
#include <gtest/gtest.h>

#include "exporter/gradients/notes.h"
#include "schema/kinds.h"
#include "tests/exporter/gradients/check.h"

namespace tern {
namespace {

using testing::doubles;
using testing::expect_gradients;
using testing::gradients_of;
using testing::integers;
using testing::noise;
using Values = std::vector<ValueId>;

TEST(IndexGradients, Reads) {
  expect_gradients({noise({3, 4}), integers({2, 3}, {0, 2, 0, 1, 1, 2})},
                   [](Builder& b, const Values& in) { return Values{b.gather(in[0], in[1], 0)}; });
  for (const std::int64_t axis : {0, 1, 2}) {
    expect_gradients({noise({3, 3, 3}), integers({2, 2}, {0, 2, 0, 1})},
                     [=](Builder& b, const Values& in) { return Values{b.index_select(in[0], in[1], axis)}; });
  }
  expect_gradients({noise({3, 4, 2}), integers({3}, {0, -1, 0}), integers({3}, {1, 3, 1})},
                   [](Builder& b, const Values& in) { return Values{b.add(Op::index, in)}; });
}

TEST(IndexGradients, Writes) {
  for (const bool accumulate : {false, true}) {
    const auto build = [=](Builder& b, const Values& in) {
      return Values{b.add(Op::index_put, in, {attr(AttrKey::accumulate, Dim(accumulate))})};
    };
    expect_gradients({noise({3, 4, 2}), noise({3, 2}, 2), integers({3}, {0, -1, 1}), integers({3}, {1, 3, 1})}, build);
    expect_gradients({noise({3, 2}), noise({1}, 2), integers({2}, {2, 0})}, build);
  }
}

TEST(IndexGradients, RepeatedPlacesAsInPyTorch) {  // overwritten values get their position's gradient, too
  const auto g = gradients_of({noise({2}), noise({3}, 2), integers({3}, {0, 0, 1})},
                              [](Builder& b, const Values& in) { return Values{b.add(Op::index_put, in)}; });
  EXPECT_EQ(g[0], (std::vector<double>{0, 0}));
  EXPECT_EQ(g[1], (std::vector<double>{1, 1, std::cos(1.0)}));
}

TEST(IndexGradients, ScatterOfEveryKind) {
  for (int kind = 0; kind < kScatterKinds; ++kind) {
    for (const bool self : {true, false}) {
      SCOPED_TRACE(kind);
      const auto build = [=](Builder& b, const Values& in) {
        return Values{b.add(
            Op::scatter, in,
            {attr(AttrKey::axis, Dim(1)), attr(AttrKey::kind, Dim(kind)), attr(AttrKey::include_self, Dim(self))})};
      };
      const bool set = static_cast<ScatterKind>(kind) == ScatterKind::set;
      const Tensor index = integers(
          {2, 3}, set ? std::vector<std::int64_t>{0, 3, 1, 2, 0, 1} : std::vector<std::int64_t>{0, 0, 1, 2, 2, 2});
      expect_gradients({noise({3, 4}), index, noise({2, 4}, 2)}, build);  // the index leaves out elements of both
      if (static_cast<ScatterKind>(kind) != ScatterKind::prod) continue;
      const Tensor zeros = doubles({2, 3}, {0, 2, 3, 0, 0, 1});
      expect_gradients({doubles({2, 4}, {2, 1, 0, 1, 1, 1, 3, 0}), index, zeros}, build);
    }
  }
}

TEST(IndexGradients, MasksAndRepetitions) {
  expect_gradients({noise({3, 1})}, [](Builder& b, const Values& in) {
    const std::uint8_t mask[] = {1, 0, 1, 1, 0, 0};
    const Dim count = b.pool().new_symbol("u", 0, 6);
    const ValueId m = b.constant(DType::boolean, {3, 2}, mask);
    const ValueId y = b.add(Op::masked_select, {in[0], m}, {attr(AttrKey::symbols, Dims{count})});
    return Values{b.reduce(b.expr("y * y", {{"y", y}}, DType::f64), "sum", {0}, false, DType::f64)};
  });
  for (const std::int64_t axis : {0, 1}) {
    expect_gradients({noise({3, 3}), integers({3}, {2, 0, 1})}, [=](Builder& b, const Values& in) {
      const Dim count = b.pool().new_symbol("u", 0, 6);
      const ValueId y =
          b.add(Op::repeat_interleave, in, {attr(AttrKey::axis, axis), attr(AttrKey::symbols, Dims{count})});
      return Values{b.reduce(b.expr("y * y * y", {{"y", y}}, DType::f64), "sum", {axis}, false, DType::f64)};
    });
  }
}

TEST(IndexGradients, BagsOfEveryKind) {
  for (int kind = 0; kind < kBagKinds; ++kind) {
    for (const bool weighted : {false, true}) {
      if (weighted && static_cast<BagKind>(kind) != BagKind::sum) continue;
      std::vector<Tensor> inputs = {noise({4, 3}), integers({5}, {0, 2, 2, 3, 1}), integers({3}, {0, 3, 3})};
      if (weighted) inputs.push_back(noise({5}, 2));
      expect_gradients(inputs, [=](Builder& b, const Values& in) {
        return Values{
            b.add(Op::embedding_bag, in, {attr(AttrKey::kind, Dim(kind)), attr(AttrKey::padding_index, Dim(3))})};
      });
    }
  }
}

TEST(IndexGradients, EmbeddingsNotes) {
  const std::vector<Tensor> inputs = {noise({3, 1}), integers({4}, {0, 2, 1, 2})};
  const auto noted = [&](std::string_view key, std::int64_t value) {
    return gradients_of(inputs, [=](Builder& b, const Values& in) {
      const ValueId y = b.index_select(in[0], in[1], 0);
      set_gradient_note(b.function().nodes.back(), key, value);
      return Values{y};
    })[0];
  };
  const double twice = std::cos(1.0) + std::cos(3.0);
  EXPECT_EQ(noted(kPaddingNote, 0), (std::vector<double>{0, std::cos(2.0), twice}));
  EXPECT_NEAR(noted(kFrequencyNote, 1)[2], twice / 2, 1e-15);
}

}  // namespace
}  // namespace tern
