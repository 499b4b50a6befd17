// Operands that may be quantized values, and refusals: a hostile file may have any type anywhere.
#include <gtest/gtest.h>

#include "tests/schema/rule.h"

namespace tern {
namespace {

using test::Rule;

void expect_refused(Rule rule, std::string_view why) {
  const std::string message = rule.refusal();
  EXPECT_FALSE(message.empty()) << "no error";
  EXPECT_NE(message.find(why), std::string::npos) << "'" << message << "' does not say '" << why << "'";
}

Rule rows() {
  return Rule(Op::index_select).quantized({4, 3, 16}).in({2, 5}, DType::i64);
}

TEST(QuantizedRules, RowsOfTables) {
  EXPECT_EQ(rows().set(AttrKey::axis, {0}).dtype(DType::bf16).type(), (TensorType{DType::bf16, {2, 5, 3, 16}}));
  EXPECT_EQ(rows().set(AttrKey::axis, {-2}).dtype(DType::f32).type(), (TensorType{DType::f32, {4, 2, 5, 16}}));
  expect_refused(rows().set(AttrKey::axis, {0}), "needs attribute 'dtype'");
  expect_refused(rows().set(AttrKey::axis, {2}).dtype(DType::f32), "only whole rows");
  expect_refused(rows().set(AttrKey::axis, {-1}).dtype(DType::f32), "only whole rows");
  expect_refused(rows().set(AttrKey::axis, {0}).dtype(DType::i8), "must be a floating-point type");
  expect_refused(Rule(Op::index_select).in({4, 16}).in({2}, DType::i64).set(AttrKey::axis, {0}).dtype(DType::f32),
                 "and no other");
  expect_refused(Rule(Op::index_select).in({4, 16}).quantized({2, 8}).set(AttrKey::axis, {0}), "not allowed here");
}

TEST(QuantizedRules, BatchesOfMatrices) {
  EXPECT_EQ(Rule(Op::matmul).in({5, 1, 2, 16}).quantized({3, 7, 16}).type(), (TensorType{DType::f32, {5, 3, 2, 7}}));
  EXPECT_EQ(Rule(Op::matmul).in({2, 16}, DType::bf16).quantized({3, 7, 16}).type().shape, (Dims{3, 2, 7}));
  expect_refused(Rule(Op::matmul).in({2, 7}).quantized({7, 16}), "contracted sizes");
  expect_refused(Rule(Op::matmul).in({2, 2, 16}).quantized({3, 7, 16}), "");
  expect_refused(Rule(Op::matmul).in({2, 16}, DType::f64).quantized({7, 16}), "float32, float16 or bfloat16");
  expect_refused(Rule(Op::matmul).in({2, 16}).quantized({16}), "two axes");
  expect_refused(Rule(Op::matmul).quantized({2, 16}).in({16, 3}), "");
}

TEST(QuantizedRules, Experts) {
  const auto experts = [](DType x) { return Rule(Op::grouped_matmul).in({9, 16}, x).quantized({3, 7, 16}); };
  EXPECT_EQ(experts(DType::bf16).in({3}, DType::i32).type(), (TensorType{DType::bf16, {9, 7}}));
  expect_refused(experts(DType::i8).in({3}, DType::i32), "float32, float16 or bfloat16");
  expect_refused(experts(DType::f32).in({2}, DType::i32), "numbers of groups");
  expect_refused(Rule(Op::grouped_matmul).in({9, 7}).quantized({3, 7, 16}).in({3}, DType::i32), "contracted sizes");
  expect_refused(Rule(Op::grouped_matmul).in({9, 16}).quantized({7, 16}).in({3}, DType::i32), "2, 3 and 1 axes");
}

TEST(QuantizedRules, Convolutions) {
  const auto rule = [](Dims image, Dims weight) {
    return Rule(Op::convolution).in(std::move(image)).quantized(std::move(weight));
  };
  const Dims image{2, 8, 5, 4}, weight{6, 8 * 9};
  EXPECT_EQ(rule(image, weight).set(AttrKey::kernel, {3, 3}).type(), (TensorType{DType::f32, {2, 6, 3, 2}}));
  EXPECT_EQ(rule({2, 16, 5, 4}, weight).set(AttrKey::kernel, {3, 3}).set(AttrKey::groups, {2}).type().shape,
            (Dims{2, 6, 3, 2}));
  expect_refused(rule(image, weight), "needs the sizes of its kernel");
  expect_refused(Rule(Op::convolution).in(image).in({6, 8, 3, 3}).set(AttrKey::kernel, {3, 3}),
                 "only a quantized weight needs the sizes of its kernel");
  expect_refused(rule(image, weight).set(AttrKey::kernel, {3}), "kernel");
  expect_refused(rule(image, weight).set(AttrKey::kernel, {2, 3}), "channels");
  expect_refused(rule(image, weight).set(AttrKey::kernel, {5, 3}), "whole kernels");
  expect_refused(rule(image, weight).set(AttrKey::kernel, {3, 0}), "kernel");
  expect_refused(rule(image, weight).set(AttrKey::kernel, {1 << 30, 1 << 30}), "");
  expect_refused(rule(image, {6, 8, 3, 8}).set(AttrKey::kernel, {3, 3}), "a quantized weight needs two");
  expect_refused(rule(image, weight).set(AttrKey::kernel, {3, 3}).set(AttrKey::transposed, {1}), "transposed");
  expect_refused(rule(image, weight).set(AttrKey::kernel, {3, 3}).set(AttrKey::groups, {3}), "");
  expect_refused(Rule(Op::convolution).in(image, DType::i8).quantized(weight).set(AttrKey::kernel, {3, 3}),
                 "float32, float16 or bfloat16");
}

TEST(QuantizedRules, TwoOfFourAreForProductsAndRows) {
  const TensorType sparse{DType::bf16, {7, 16}, two_of_four()};
  EXPECT_EQ(Rule(Op::matmul).in({2, 16}).typed(sparse).type(), (TensorType{DType::f32, {2, 7}}));
  EXPECT_EQ(Rule(Op::dequantize).typed(sparse).dtype(DType::f16).type(), (TensorType{DType::f16, {7, 16}}));
  expect_refused(Rule(Op::convolution).in({2, 16, 5}).typed(sparse).set(AttrKey::kernel, {1}), "2:4 sparse");
  expect_refused(Rule(Op::matmul).in({2, 7}).in({7, 16}, DType::f32).typed(sparse), "");
}

}  // namespace
}  // namespace tern
