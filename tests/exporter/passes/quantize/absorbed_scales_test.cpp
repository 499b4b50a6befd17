// Scales of columns in norms and products before them: results stay, and weighted errors fall.
#include "exporter/passes/quantize/absorbed_scales.h"

#include <gtest/gtest.h>

#include "exporter/constants.h"
#include "tests/random_floats.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using test::random_floats;
using testing::floats;
using testing::TestProgram;

constexpr std::int64_t kAbsorbedRows = 8, kAbsorbedWidth = 64, kAbsorbedInner = 96;

/// A gated block: x * vector, two products, their elementwise product, and a product. Some channels are large.
struct GatedBlock {
  TestProgram p;
  explicit GatedBlock(bool returns_inner = false) {
    const ValueId x = p.input(DType::f32, {kAbsorbedRows, kAbsorbedWidth});
    std::vector<float> vector = random_floats(kAbsorbedWidth, 11);
    for (std::size_t i = 0; i < vector.size(); i += 9) vector[i] *= 20;
    const ValueId scaled = p.b().expr("x * v", {{"x", x}, {"v", p.state({kAbsorbedWidth}, vector, false)}}, DType::f32);
    const ValueId gate = product(scaled, kAbsorbedWidth, kAbsorbedInner, 12);
    const ValueId up = product(scaled, kAbsorbedWidth, kAbsorbedInner, 13);
    const ValueId gated = p.b().expr("sigmoid(g)", {{"g", gate}}, DType::f32);
    const ValueId inner = p.b().expr("g * u", {{"g", gated}, {"u", up}}, DType::f32);
    p.output(product(inner, kAbsorbedInner, kAbsorbedWidth, 14));
    if (returns_inner) p.output(inner);
  }
  ValueId product(ValueId v, std::int64_t k, std::int64_t n, unsigned seed) {
    return p.b().matmul(v, p.b().transpose(p.state({n, k}, random_floats(n * k, seed), false), 0, 1));
  }
  std::vector<float> result() const {
    Session session(p.model().prepare());
    return testing::values_of(
        session.run({floats({kAbsorbedRows, kAbsorbedWidth}, random_floats(kAbsorbedRows * kAbsorbedWidth, 1))})[0]);
  }
};

/// Importance that differs by channel.
std::map<WeightPart, std::vector<float>> uneven_importance(const Program& program) {
  std::map<WeightPart, std::vector<float>> importance;
  for (const auto& [storage, w] : quantize::weights_of(program)) {
    const quantize::MatrixPart& part = w.uses[0].matrix;
    std::vector<float>& values = importance[WeightPart(program.states[w.state].name, part)];
    values.assign(static_cast<std::size_t>(part.columns), 1.0F);
    for (std::size_t i = 0; i < values.size(); i += 9) values[i] = 400;
  }
  return importance;
}

TEST(AbsorbedScales, ResultsStayAndImportanceEvensOut) {
  GatedBlock block;
  extendable_source(block.p.program());
  const std::vector<float> before = block.result();
  auto importance = uneven_importance(block.p.program());
  const auto original = importance;
  ASSERT_EQ(importance.size(), 3u);
  const quantize::Recipe recipe{.format = quantize::find_format("int4"), .block = 32};
  EXPECT_EQ(absorb_scales(
                block.p.program(), [&](const std::string&) { return &recipe; }, importance),
            2u);
  EXPECT_NE(importance, original);
  for (const auto& [part, values] : importance)
    EXPECT_LT(values[0] / values[1], original.at(part)[0] / original.at(part)[1] * 0.7F) << part.weight;
  const std::vector<float> after = block.result();
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) ASSERT_NEAR(after[i], before[i], 1e-2) << i;
}

TEST(AbsorbedScales, ValuesWithOtherReadersStay) {
  GatedBlock block(true);
  extendable_source(block.p.program());
  auto importance = uneven_importance(block.p.program());
  const quantize::Recipe recipe{.format = quantize::find_format("int4"), .block = 32};
  EXPECT_EQ(absorb_scales(
                block.p.program(), [&](const std::string&) { return &recipe; }, importance),
            1u);
  EXPECT_EQ(absorb_scales(
                block.p.program(), [](const std::string&) { return nullptr; }, importance),
            0u);
}

}  // namespace
}  // namespace tern
