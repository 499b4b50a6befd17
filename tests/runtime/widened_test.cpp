// Small-element weights that become floats, depending on the program's nodes and the device.
#include "runtime/widened.h"

#include <gtest/gtest.h>

#include <string_view>

#include "exporter/passes/passes.h"
#include "tests/random_floats.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::floats;
using testing::TestProgram;

constexpr std::int64_t kN = 48, kK = 64;

/// x w^T with an int8 weight.
TestProgram product_widened() {
  TestProgram p;
  const std::vector<float> w = test::random_floats(kN * kK, 1);
  const ValueId x = p.input(DType::f32, {2, kK});
  p.output(p.b().matmul(x, p.b().transpose(p.b().constant(DType::f32, {kN, kK}, w.data()), 0, 1)));
  p.program().states[0].name = "w";
  const quantize::Format* const int8 = quantize::find_format("int8");
  quantize_weights(p.program(), {{{int8, int8->block}, {}}}, {});
  return p;
}

/// After a run.
std::vector<WidenedNode> widened_in_plans(TestProgram& p, const PrepareOptions& options) {
  const PreparedModel prepared = p.model().prepare(options);
  Session session(prepared);
  session.run({floats({2, kK}, test::random_floats(2 * kK, 2))});
  return widened_by_plans(*prepared.impl());
}

TEST(Widened, ProductsReadWeightsInTheirOwnBits) {
  TestProgram p = product_widened();
  EXPECT_TRUE(widened_by_nodes(p.program()).empty());
  EXPECT_TRUE(widened_in_plans(p, {}).empty());
}

TEST(Widened, ReproducibleProductsMakeFloats) {
  TestProgram p = product_widened();
  PrepareOptions options;
  options.reproducible = true;
  const std::vector<WidenedNode> found = widened_in_plans(p, options);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].weight, "w");
  EXPECT_EQ(found[0].op, "matmul");
  EXPECT_EQ(found[0].function, "forward");
  EXPECT_EQ(found[0].bytes, static_cast<std::uint64_t>(kN * kK) * sizeof(float));
  EXPECT_FALSE(found[0].once);
}

TEST(Widened, NodesThatDequantize) {
  TestProgram p = product_widened();
  Builder& b = p.b();
  const ValueId w = b.function().inputs.back().value;
  ASSERT_TRUE(b.type(w).quantized());
  p.output(b.add(Op::dequantize, {w}, {attr_dtype(DType::f32)}));
  const std::vector<WidenedNode> nodes = widened_by_nodes(p.program()), plans = widened_in_plans(p, {});
  for (const auto& found : {nodes, plans}) {
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].weight, "w");
    EXPECT_EQ(found[0].op, "dequantize");
    EXPECT_EQ(found[0].bytes, static_cast<std::uint64_t>(kN * kK) * sizeof(float));
  }
}

TEST(Widened, PointwiseNodesOnPlainElements) {
  TestProgram p;
  const std::vector<std::int8_t> w(static_cast<std::size_t>(kN * kK), 3);
  const ValueId x = p.input(DType::f32, {2, kK});
  const ValueId weight = p.b().transpose(p.b().constant(DType::i8, {kN, kK}, w.data()), 0, 1);
  p.output(p.b().matmul(x, p.b().expr("w * 0.5", {{"w", weight}}, DType::f32, DType::f32)));
  const std::vector<WidenedNode> nodes = widened_by_nodes(p.program());
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].op, "pointwise");
  EXPECT_EQ(nodes[0].bytes, static_cast<std::uint64_t>(kN * kK) * sizeof(float));
  EXPECT_EQ(widened_in_plans(p, {}).size(), 1u);
}

}  // namespace
}  // namespace tern
