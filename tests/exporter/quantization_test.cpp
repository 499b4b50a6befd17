// Quantized operators outside tests/data/quantized: programs of older torchao, node counts, and errors.
#include <gtest/gtest.h>

#include "exporter/pt2/aten_schema.h"
#include "tests/exporter/traced_model.h"
#include "tests/runtime/lowered_call.h"

namespace tern::testing {
namespace {

using Numbers = LoweredCall::Numbers;

constexpr int kU8 = 1, kI8 = 2;

/// quantize_per_tensor and dequantize_per_tensor of x, as in PT2E programs.
TracedModel there_and_back() {
  TracedModel m;
  m.user("x", meta({2, 3}));
  const Arguments grid = {{"scale", number(0.1)},
                          {"zero_point", integer(128)},
                          {"quant_min", integer(0)},
                          {"quant_max", integer(255)},
                          {"dtype", scalar_type(kU8)}};
  Arguments quantize = {{"input", tensor("x")}}, dequantize = {{"input", tensor("q")}};
  quantize.insert(quantize.end(), grid.begin(), grid.end());
  dequantize.insert(dequantize.end(), grid.begin(), grid.end());
  m.node("torch.ops.quantized_decomposed.quantize_per_tensor.default", quantize, {{"q", meta({2, 3}, kU8)}});
  m.node("torch.ops.quantized_decomposed.dequantize_per_tensor.default", dequantize, {{"y", meta({2, 3})}});
  m.result("y");
  return m;
}

TEST(Quantization, ThereAndBackIsOneExpressionEach) {
  TracedModel m = there_and_back();
  const Program p = m.load();
  ASSERT_EQ(p.functions[0].nodes.size(), 2u);
  for (const Node& n : p.functions[0].nodes) {
    EXPECT_EQ(n.op, Op::pointwise);
    EXPECT_EQ(n.inputs.size(), 1u);  // scale and zero point are numbers
  }
}

/// torchao up to 0.11, as tinygemm's int4 weights were dequantized: (q - 8) * scale + zero_point.
LoweredCall older_torchao_call(std::string name) {
  LoweredCall call("torchao." + name + ".default");
  call.tensor("input", {1, 4}, name == "dequantize_affine" ? Numbers{0, 7, 8, 15} : Numbers{-3.9, 0.1, 0.35, 10})
      .integers("block_size", {1, 2})
      .tensor("scale", {1, 2}, {0.5, 0.25})
      .tensor("zero_point", {1, 2}, {0.125, 1})
      .integer("quant_min", 0)
      .integer("quant_max", 15)
      .text("zero_point_domain", "FLOAT");
  return call;
}

TEST(Quantization, FloatingZeroPointsOfOlderTorchao) {
  EXPECT_EQ(older_torchao_call("dequantize_affine").run().at(0), (Numbers{-3.875, -0.375, 1, 2.75}));
  EXPECT_EQ(older_torchao_call("quantize_affine").run().at(0), (Numbers{0, 8, 5, 15}));
}

TEST(Quantization, SchemasOfBothGenerationsOfTorchao) {
  const pt2::Schema* newest = pt2::find_schema("torchao::dequantize_affine");
  ASSERT_NE(newest, nullptr);
  EXPECT_EQ(newest->find("zero_point_domain"), nullptr);
  EXPECT_EQ(newest->find("output_dtype")->default_value.integer, kF32);
  pt2::Node old;
  old.target = "torch.ops.torchao.dequantize_affine.default";
  old.inputs.resize(1);
  old.inputs[0].name = "zero_point_domain";
  ASSERT_NE(pt2::find_schema(old), nullptr);
  EXPECT_NE(pt2::find_schema(old)->find("zero_point_domain"), nullptr);
  constexpr int kE4m3 = 29;
  EXPECT_EQ(pt2::find_schema("torchao::choose_scale_float8")->find("float8_dtype")->default_value.integer, kE4m3);
}

std::string refusal(LoweredCall call) {
  return error_of([&] { call.run(); }, ErrorCode::unsupported);
}

TEST(Quantization, WrongBlocksAreRefused) {
  const auto quantize = [](const LoweredCall::Sizes& block, const std::string& domain) {
    LoweredCall call("torchao.quantize_affine.default");
    call.tensor("input", {4, 6}, Numbers(24))
        .integers("block_size", block)
        .tensor("scale", {1}, {1})
        .tensor("zero_point", {1}, {0})
        .integer("quant_min", 0)
        .integer("quant_max", 15)
        .text("zero_point_domain", domain);
    return call;
  };
  EXPECT_NE(refusal(quantize({6}, "INT")).find("1 block sizes for"), std::string::npos);
  EXPECT_NE(refusal(quantize({1, 4}, "INT")).find("blocks of 4 do not divide an axis of size 6"), std::string::npos);
  EXPECT_NE(refusal(quantize({1, 6}, "COMPLEX")).find("domain 'COMPLEX'"), std::string::npos);
}

TEST(Quantization, WrongPackingsAreRefused) {
  TracedModel m;
  m.user("x", meta({2, 64}));
  m.user("w", meta({24, 32}, kU8));
  m.user("s", meta({2, 24, 2}));
  m.node("torch.ops.aten._weight_int4pack_mm_for_cpu.default",
         {{"self", tensor("x")}, {"mat2", tensor("w")}, {"qGroupSize", integer(32)}, {"qScaleAndZeros", tensor("s")}},
         {{"y", meta({2, 24})}});
  m.result("y");
  EXPECT_NE(error_of([&] { m.load(); }, ErrorCode::unsupported).find("a packed weight of 24 rows is not supported"),
            std::string::npos);

  TracedModel sparse;
  sparse.user("x", meta({2, 64}));
  sparse.user("w", meta({32, 32}, kI8));
  sparse.user("m", meta({32, 3}, kI32));
  sparse.node("torch.ops.aten._sparse_semi_structured_linear.default",
              {{"input", tensor("x")}, {"weight", tensor("w")}, {"meta", tensor("m")}}, {{"y", meta({2, 32})}});
  sparse.result("y");
  EXPECT_NE(error_of([&] { sparse.load(); }, ErrorCode::unsupported).find("metadata of 3 columns"), std::string::npos);
}

}  // namespace
}  // namespace tern::testing
