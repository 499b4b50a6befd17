// Weights stored in two bytes at export: results of products and embeddings, and weights that stay.
#include <gtest/gtest.h>
#include <tern/error.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "exporter/passes/passes.h"
#include "tests/random_floats.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using test::random_floats;
using testing::floats;
using testing::TestProgram;
using testing::values_of;

constexpr std::int64_t kWords = 40, kPrecisionWidth = 24;

/// Rounds to 8 significant digits, ties to even: bfloat16 by IEEE 754.
double rounded(float v) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(v);
  return static_cast<double>(std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000));
}

const TensorType& state_type(TestProgram& p, std::size_t k) {
  return p.program().states[k].type;
}

// A language model's ends: rows of a table, a layer, and scores for all rows of the table.
TEST(Precision, TiedWeightsOfALanguageModel) {
  const std::vector<float> table = random_floats(kWords * kPrecisionWidth, 1),
                           layer = random_floats(kPrecisionWidth * kPrecisionWidth, 2),
                           bias = random_floats(kPrecisionWidth, 3);
  TestProgram p;
  Builder& b = p.b();
  const ValueId words = p.state({kWords, kPrecisionWidth}, table, false),
                w = p.state({kPrecisionWidth, kPrecisionWidth}, layer, false),
                plus = p.state({kPrecisionWidth}, bias, false), index = p.input(DType::i64, {3});
  const ValueId x = b.index_select(words, index, 0);
  const ValueId h = b.add(Op::matmul, {x, b.transpose(w, 0, 1), plus});
  p.output(h);
  p.output(b.matmul(h, b.transpose(words, 0, 1)));
  ASSERT_EQ(narrow_weights(p.program(), DType::bf16), 2u);
  EXPECT_EQ(state_type(p, 0).dtype, DType::bf16);
  EXPECT_EQ(state_type(p, 1).dtype, DType::bf16);
  EXPECT_EQ(state_type(p, 2).dtype, DType::f32);
  EXPECT_EQ(p.program().storages[0].size, static_cast<std::uint64_t>(kWords * kPrecisionWidth * 2));

  const std::int64_t chosen[] = {7, 0, 39};
  Session session(p.model().prepare());
  Tensor indices(DType::i64, {3});
  std::ranges::copy(chosen, indices.span<std::int64_t>().begin());
  const std::vector<Tensor>& results = session.run({indices});
  const std::vector<float> hidden = values_of(results[0]), scores = values_of(results[1]);
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<double> want(kPrecisionWidth);
    for (std::size_t j = 0; j < kPrecisionWidth; ++j) {
      want[j] = static_cast<double>(bias[j]);
      for (std::size_t k = 0; k < kPrecisionWidth; ++k)
        want[j] += rounded(table[static_cast<std::size_t>(chosen[i]) * kPrecisionWidth + k]) *
                   rounded(layer[j * kPrecisionWidth + k]);
      EXPECT_NEAR(static_cast<double>(hidden[i * kPrecisionWidth + j]), want[j], 1e-5);
    }
    for (std::size_t word = 0; word < kWords; ++word) {
      double score = 0;
      for (std::size_t k = 0; k < kPrecisionWidth; ++k) score += want[k] * rounded(table[word * kPrecisionWidth + k]);
      EXPECT_NEAR(static_cast<double>(scores[i * kWords + word]), score, 1e-4);
    }
  }
}

TEST(Precision, WeightsThatOthersReadStay) {
  const std::vector<float> values = random_floats(kWords * kPrecisionWidth, 1);
  const auto narrowed = [&](auto use, bool is_mutable = false) {
    TestProgram p;
    const ValueId w = p.state({kWords, kPrecisionWidth}, values, is_mutable), x = p.input(DType::f32, {5, kWords});
    use(p, w, x);
    return narrow_weights(p.program(), DType::bf16);
  };
  const auto product = [](TestProgram& p, ValueId w, ValueId x) { p.output(p.b().matmul(x, w)); };
  EXPECT_EQ(narrowed(product), 1u);
  EXPECT_EQ(narrowed(product, true), 0u);
  EXPECT_EQ(narrowed([&](TestProgram& p, ValueId w, ValueId x) {
              product(p, w, x);
              p.output(w);
            }),
            0u);
  EXPECT_EQ(narrowed([&](TestProgram& p, ValueId w, ValueId x) {
              product(p, w, x);
              p.output(p.b().expr("a + a", {{"a", p.b().transpose(w, 0, 1)}}, DType::f32));
            }),
            0u);
  EXPECT_EQ(narrowed([&](TestProgram& p, ValueId w, ValueId x) {
              p.output(p.b().matmul(p.b().transpose(w, 0, 1), p.b().transpose(x, 0, 1)));
            }),
            0u);  // the weight is the first operand
}

TEST(Precision, StatesOfOneStorageBecomeNarrowTogether) {
  for (const bool also_added : {false, true}) {
    TestProgram p;
    Builder& b = p.b();
    const ValueId words = p.state({kWords, kPrecisionWidth}, random_floats(kWords * kPrecisionWidth, 1), false),
                  head = p.state({kWords, kPrecisionWidth}, random_floats(kWords * kPrecisionWidth, 2), false);
    p.program().states[1].storage = p.program().states[0].storage;
    const ValueId rows = b.index_select(words, p.input(DType::i64, {3}), 0);
    p.output(b.matmul(rows, b.transpose(head, 0, 1)));
    if (also_added) p.output(b.expr("a + a", {{"a", words}}, DType::f32));
    EXPECT_EQ(narrow_weights(p.program(), DType::bf16), also_added ? 0u : 1u);
    for (std::size_t k = 0; k < 2; ++k) EXPECT_EQ(state_type(p, k).dtype, also_added ? DType::f32 : DType::bf16);
  }
}

TEST(Precision, Float16HoldsNoLargeNumbers) {
  std::vector<float> values = random_floats(kWords * kPrecisionWidth, 1);
  for (const float large : {65504.0F, 65519.0F, 65520.0F}) {
    values[100] = large;
    TestProgram p;
    const ValueId w = p.state({kWords, kPrecisionWidth}, values, false), x = p.input(DType::f32, {5, kWords});
    p.output(p.b().matmul(x, w));
    ASSERT_EQ(narrow_weights(p.program(), DType::f16), 1u);
    const auto read = [&] { return p.program().source->bytes(0); };
    if (large < 65520) {
      EXPECT_EQ(read().size(), values.size() * 2);
    } else {
      EXPECT_THROW(read(), Error);
    }
  }
}

}  // namespace
}  // namespace tern
