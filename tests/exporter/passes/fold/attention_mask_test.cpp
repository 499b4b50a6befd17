// Attention masks recognised at export.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "exporter/passes/passes.h"
#include "schema/passes/dead_code.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::floats;
using testing::TestProgram;
using testing::values_of;
using Floats = std::vector<float>;

constexpr std::int64_t kLength = 5, kWidth = 4;

Floats numbers(std::size_t count, float step) {
  Floats v(count);
  for (std::size_t i = 0; i < count; ++i) v[i] = static_cast<float>(i % 11) * step - 1;
  return v;
}

/// The mask left after folding.
struct Masked {
  std::size_t states = 0;
  bool masked = false, causal = false;
};

Masked fold(const std::function<ValueId(TestProgram&)>& mask, bool causal = false) {
  TestProgram p;
  std::vector<ValueId> operands;
  for (int i = 0; i < 3; ++i) operands.push_back(p.input(DType::f32, {1, 2, kLength, kWidth}));
  operands.push_back(mask(p));
  p.output(p.b().add(Op::attention, operands, {attr(AttrKey::causal, Dim(causal ? 1 : 0))}));
  remove_dead_code(p.program());
  std::vector<Tensor> inputs;
  for (const float step : {0.3F, 0.2F, 0.7F})
    inputs.push_back(floats({1, 2, kLength, kWidth}, numbers(2 * kLength * kWidth, step)));
  const auto run = [&] {
    Session session(p.model().prepare());
    return values_of(session.run(inputs)[0]);
  };
  const Floats before = run();
  fold_constants(p.program());
  const Floats after = run();
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-6F);
  Masked m;
  m.states = p.program().states.size();
  const Node& n = p.program().functions[0].nodes.back();
  m.masked = n.inputs[3] != kNoValue;
  m.causal = n.integer(AttrKey::causal) != 0;
  return m;
}

/// A float mask [queries, keys]: `below` for keys up to the query, `above` for later keys.
ValueId triangle(TestProgram& p, float below, float above) {
  Floats v;
  for (std::int64_t i = 0; i < kLength; ++i) {
    for (std::int64_t j = 0; j < kLength; ++j) v.push_back(j <= i ? below : above);
  }
  return p.state({1, 1, kLength, kLength}, v, false);
}

TEST(FoldMask, OneThatHidesNothingGoes) {
  const auto zeros = [](TestProgram& p) { return p.state({kLength, kLength}, Floats(kLength * kLength), false); };
  Masked m = fold(zeros);
  EXPECT_FALSE(m.masked);
  EXPECT_FALSE(m.causal);
  EXPECT_EQ(m.states, 0u);
  m = fold([](TestProgram& p) {
    return p.b().expand(p.b().full({1, 1, 1, 1}, 1, DType::boolean), {1, 2, kLength, kLength});
  });
  EXPECT_FALSE(m.masked);
  m = fold(zeros, true);
  EXPECT_FALSE(m.masked);
  EXPECT_TRUE(m.causal);
}

TEST(FoldMask, OneThatHidesLaterKeysIsCausal) {
  for (const float hidden : {-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::lowest(), -1e9F}) {
    const Masked m = fold([&](TestProgram& p) { return triangle(p, 0, hidden); });
    EXPECT_FALSE(m.masked) << hidden;
    EXPECT_TRUE(m.causal);
    EXPECT_EQ(m.states, 0u);
  }
  // The comparison that models write.
  const Masked m = fold([](TestProgram& p) {
    return p.b().expr("m == 0", {{"m", triangle(p, 0, 1)}}, DType::boolean);
  });
  EXPECT_FALSE(m.masked);
  EXPECT_TRUE(m.causal);
}

TEST(FoldMask, OthersStay) {
  EXPECT_TRUE(fold([](TestProgram& p) { return triangle(p, 0, -5); }).masked) << "a bias";
  EXPECT_TRUE(fold([](TestProgram& p) { return triangle(p, -std::numeric_limits<float>::infinity(), 0); }).masked);
  EXPECT_TRUE(fold([](TestProgram& p) {
                return p.state({1, kLength}, {0, 0, 0, 0, -std::numeric_limits<float>::infinity()}, false);
              }).masked)
      << "padding";
}

}  // namespace
}  // namespace tern
