// Constants that become MX values. The cases in tests/data/import.tar.zst compare the results with PyTorch.
#include <gtest/gtest.h>

#include "tests/exporter/traced_model.h"

namespace tern::testing {
namespace {

constexpr int kE4M3 = 29, kE8M0 = 33;
const std::string kPackAten = "torch.ops.aten.";

/// A weight of 2 rows, each of two blocks of 32: element i has the bits i mod 64; the scales are 1/2, 1, 2 and 4.
/// `combine` is the operator applied to elements and scales.
TracedModel packed_model(const std::string& combine = "mul.Tensor") {
  TracedModel m;
  std::string elements;
  for (int i = 0; i < 128; ++i) elements += static_cast<char>(i % 64);
  m.bytes(elements);
  m.bytes("\x7e\x7f\x80\x81");
  m.buffer("data", meta({2, 64}, kE4M3), 0);
  m.buffer("scale", meta({2, 2}, kE8M0), 1);
  m.user("x", meta({2, 64}));
  const auto to_float = [&](const std::string& x, const std::string& y, const Json& type) {
    m.node(kPackAten + "to.dtype", {{"self", tensor(x)}, {"dtype", scalar_type(kF32)}}, {{y, type}});
  };
  to_float("b_data", "elements", meta({2, 64}));
  to_float("b_scale", "scales", meta({2, 2}));
  m.node(kPackAten + "view.default", {{"self", tensor("elements")}, {"size", integers({2, 2, 32})}},
         {{"blocks", meta({2, 2, 32})}});
  m.node(kPackAten + "unsqueeze.default", {{"self", tensor("scales")}, {"dim", integer(-1)}},
         {{"columns", meta({2, 2, 1})}});
  m.node(kPackAten + combine, {{"self", tensor("blocks")}, {"other", tensor("columns")}},
         {{"product", meta({2, 2, 32})}});
  m.node(kPackAten + "view.default", {{"self", tensor("product")}, {"size", integers({2, 64})}},
         {{"w", meta({2, 64})}});
  m.node(kPackAten + "mul.Tensor", {{"self", tensor("x")}, {"other", tensor("w")}}, {{"y", meta({2, 64})}});
  m.result("y");
  return m;
}

std::size_t count(const Program& p, Op op) {
  std::size_t n = 0;
  for (const Node& node : p.functions[0].nodes) n += node.op == op ? 1 : 0;
  return n;
}

const State* state_pack(const Program& p, const std::string& name) {
  for (const State& s : p.states) {
    if (s.name == name) return &s;
  }
  return nullptr;
}

TEST(Microscaling, AProductOfElementsAndScalesIsOneValue) {
  TracedModel m = packed_model();
  const Program p = m.load();
  ASSERT_EQ(count(p, Op::dequantize), 1u);
  EXPECT_EQ(p.functions[0].nodes.size(), 2u) << "dequantize, multiply";
  ASSERT_EQ(p.states.size(), 1u);
  EXPECT_EQ(p.states[0].name, "data");
  EXPECT_EQ(p.states[0].type, (TensorType{DType::f8_e4m3fn, {2, 64}, {.columns = 32}}));
  const auto bytes = p.source->bytes(p.states[0].storage);
  ASSERT_EQ(bytes.size(), 128u + 4u);
  EXPECT_EQ(bytes[65], std::byte{1});
  EXPECT_EQ(bytes[128], std::byte{0x7e});
  EXPECT_EQ(bytes[131], std::byte{0x81});
}

TEST(Microscaling, AnythingElseIsNot) {
  TracedModel m = packed_model("add.Tensor");
  const Program p = m.load();
  EXPECT_EQ(count(p, Op::dequantize), 0u);
  EXPECT_EQ(p.states.size(), 2u);
}

TEST(Microscaling, StatesThatAreWrittenAreLeftAlone) {
  TracedModel m = packed_model();
  m.node(kPackAten + "copy_.default", {{"self", tensor("b_scale")}, {"src", tensor("b_scale")}},
         {{"copied", meta({2, 2}, kE8M0)}});
  m.node(kPackAten + "zero_.default", {{"self", tensor("b_scale")}}, {{"zeroed", meta({2, 2}, kE8M0)}});
  const Program p = m.load();
  EXPECT_EQ(count(p, Op::dequantize), 0u);
}

TEST(Microscaling, StatesThatAreReadOtherwiseStay) {
  TracedModel m = packed_model();
  m.result("scales");
  const Program p = m.load();
  EXPECT_EQ(count(p, Op::dequantize), 1u);
  EXPECT_EQ(p.states.size(), 2u);
  EXPECT_NE(state_pack(p, "scale"), nullptr);
  ASSERT_NE(state_pack(p, "data"), nullptr);
  EXPECT_EQ(state_pack(p, "data")->type.blocks.columns, 32);
  for (const FunctionInput& in : p.functions[0].inputs) {
    if (in.kind == FunctionInput::Kind::state) {
      EXPECT_EQ(in.name, p.states.at(in.state).name);
    }
  }
}

/// The exporter never evaluates the table of 2^40 numbers.
TEST(Microscaling, WorkIsBounded) {
  TracedModel m = packed_model();
  m.node(kPackAten + "expand.default", {{"self", tensor("product")}, {"size", integers({1 << 20, 1 << 14, 2, 2, 32})}},
         {{"many", meta({1, 1, 2, 2, 32})}});
  m.node(kPackAten + "sin.default", {{"self", tensor("many")}}, {{"sines", meta({1, 1, 2, 2, 32})}});
  m.result("sines");
  const Program p = m.load();
  EXPECT_EQ(count(p, Op::dequantize), 1u);
}

}  // namespace
}  // namespace tern::testing
