#include "tools/view/weight.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>

#include "exporter/passes/quantize/matrix.h"
#include "tests/tools/view/support.h"

namespace tern::view {
namespace {

using nlohmann::json;

TEST(ViewWeight, Statistics) {
  const Program p = test::weight_program("w", {DType::f32, {2, 4}}, {4, 1}, {0, 1, 2, 3, -3, INFINITY, NAN, 0});
  const json w = weight_json(p, 0);
  EXPECT_EQ(w["count"], 8);
  EXPECT_EQ(w["not_finite"], 2);
  EXPECT_EQ(w["zeros"], 2);
  EXPECT_EQ(w["min"], -3);
  EXPECT_EQ(w["max"], 3);
  EXPECT_DOUBLE_EQ(w["mean"], 0.5);
  EXPECT_DOUBLE_EQ(w["deviation"], std::sqrt(23.0 / 6 - 0.25));  // deviation of 0 1 2 3 -3 0
  const std::vector<std::uint64_t> bins = w["bins"];
  EXPECT_EQ(std::accumulate(bins.begin(), bins.end(), std::uint64_t{0}), 6u);
  EXPECT_EQ(bins.front(), 1u);
  EXPECT_EQ(bins.back(), 1u);
  EXPECT_EQ(bins[bins.size() / 2], 2u);  // the zeros
}

TEST(ViewWeight, ReadsThroughStrides) {
  // The transpose of [[1, 2, 3], [4, 5, 6]], against the same numbers in order.
  const Program a = test::weight_program("w", {DType::f32, {3, 2}}, {1, 3}, {1, 2, 3, 4, 5, 6});
  const Program b = test::weight_program("w", {DType::f32, {3, 2}}, {2, 1}, {1, 4, 2, 5, 3, 6});
  EXPECT_EQ(compared_json(a, 0, b, 0)["equal"], true);
  const Program c = test::weight_program("w", {DType::f32, {3, 2}}, {2, 1}, {1, 4, 2, 5, 3, 8});
  const json differ = compared_json(a, 0, c, 0);
  EXPECT_EQ(differ["equal"], false);
  EXPECT_EQ(differ["largest_error"], 2);
  EXPECT_NEAR(differ["sqnr_db"], 10 * std::log10(91.0 / 4), 1e-5);
}

TEST(ViewWeight, ComparesMatricesWithTensors) {
  const Program a = test::weight_program("w", {DType::f32, {2, 3, 1, 1}}, {3, 1, 1, 1}, {1, 2, 3, 4, 5, 6});
  const Program b = test::weight_program("w", {DType::f32, {2, 3}}, {3, 1}, {1, 2, 3, 4, 5, 6});
  const Program c = test::weight_program("w", {DType::f32, {2}}, {1}, {1, 2});
  EXPECT_EQ(compared_json(a, 0, b, 0)["equal"], true);
  EXPECT_EQ(compared_json(a, 0, c, 0)["problem"], "their sizes differ");
}

/// x [9, 2] times the weight, stored as [2, n] and read without a transpose: its matrix is the transpose.
Program times(Program p) {
  Builder b(p, 0);
  const ValueId x = b.add_value({DType::f32, {9, 2}}, "y");
  b.function().inputs.push_back({FunctionInput::Kind::user, x, 0, "y", {}});
  const ValueId w = b.function().inputs[1].value;
  b.function().outputs = {{FunctionOutput::Kind::tensor, b.matmul(x, w), "product"}};
  std::erase_if(b.function().nodes, [](const Node& n) { return n.op == Op::reduce; });
  return p;
}

TEST(ViewWeight, QuantizedValuesAreComparedAsProductsReadThem) {
  const Program a = times(test::weight_program("w", {DType::f32, {2, 2}}, {2, 1}, {1, 2, 3, 4}));
  const auto quantized = [](std::array<float, 4> numbers) {
    const quantize::Recipe recipe{quantize::find_format("int8"), 0};
    const quantize::Quantized q =
        quantize::quantize({std::as_bytes(std::span(numbers)).data(), DType::f32, 2, 2, 2, 1}, recipe);
    std::vector<float> storage(q.bytes.size() / sizeof(float) + 1);
    std::memcpy(storage.data(), q.bytes.data(), q.bytes.size());
    Program p = test::weight_program("w", {DType::f32, {static_cast<std::int64_t>(storage.size())}}, {1}, storage);
    p.states[0].type = {DType::i8, {2, 2}, q.blocks};
    p.states[0].strides = {2, 1};
    return p;
  };
  EXPECT_LT(compared_json(a, 0, quantized({1, 3, 2, 4}), 0)["largest_error"], 0.02);
  EXPECT_LT(compared_json(quantized({1, 3, 2, 4}), 0, a, 0)["largest_error"], 0.02);
  EXPECT_NEAR(compared_json(a, 0, quantized({1, 2, 3, 4}), 0)["largest_error"], 1, 0.03);
  // Float weights of other sizes are different weights, even with an equal number of elements.
  const Program wide = test::weight_program("w", {DType::f32, {1, 4}}, {4, 1}, {1, 2, 3, 4});
  EXPECT_EQ(compared_json(a, 0, wide, 0)["problem"], "their sizes differ");
}

TEST(ViewWeight, FormatsAreThoseOfTheMatrixThatExportMakes) {
  // Four rows of two numbers, so four scales of four bytes.
  const Program p = times(test::weight_program("w", {DType::f32, {2, 4}}, {4, 1}, {1, 2, 3, 4, 5, 6, 7, 8}));
  const json formats = weight_json(p, 0)["formats"];
  const auto int8 = std::ranges::find_if(formats, [](const json& f) { return f["format"] == "int8"; });
  ASSERT_NE(int8, formats.end());
  EXPECT_EQ((*int8)["bytes"], 2 * 4 + 4 * 4);
  EXPECT_GT((*int8)["sqnr_db"], 40);
  const Program summed = test::weight_program("w", {DType::f32, {2, 2}}, {2, 1}, {1, 2, 3, 4});
  EXPECT_TRUE(weight_json(summed, 0)["formats"].empty());
}

TEST(ViewWeight, ExactAndNotFiniteDiffer) {
  const Program a = test::weight_program("w", {DType::f32, {2}}, {1}, {1, NAN});
  const Program b = test::weight_program("w", {DType::f32, {2}}, {1}, {1, 2});
  const Program c = test::weight_program("w", {DType::f32, {2}}, {1}, {-0.F, 2}),
                d = test::weight_program("w", {DType::f32, {2}}, {1}, {0, 2});
  const json differ = compared_json(a, 0, b, 0);
  EXPECT_EQ(differ["equal"], false);
  EXPECT_TRUE(differ["sqnr_db"].is_null());
  EXPECT_TRUE(differ["cosine"].is_null());
  EXPECT_TRUE(differ["largest_error"].is_null());
  EXPECT_EQ(compared_json(a, 0, a, 0)["equal"], true);
  EXPECT_EQ(compared_json(b, 0, b, 0)["sqnr_db"], "exact");
  EXPECT_EQ(compared_json(c, 0, d, 0)["equal"], false);
}

TEST(ViewWeight, WideFloatsKeepTheirDigits) {
  const auto wide = [](double x) {
    std::vector<float> storage(2);
    std::memcpy(storage.data(), &x, sizeof x);
    Program p = test::weight_program("w", {DType::f32, {2}}, {1}, storage);
    p.states[0].type = {DType::f64, {1}};
    return p;
  };
  const json differ = compared_json(wide(1), 0, wide(1 + 1e-12), 0);
  EXPECT_EQ(differ["equal"], false);
  EXPECT_NEAR(differ["sqnr_db"], 240, 0.01);
}

TEST(ViewWeight, NothingAndOneNumber) {
  EXPECT_EQ(weight_json(test::weight_program("w", {DType::f32, {1}}, {1}, {7}), 0)["mean"], 7);
  const json nans = weight_json(test::weight_program("w", {DType::f32, {1}}, {1}, {NAN}), 0);
  EXPECT_TRUE(nans["mean"].is_null());
  EXPECT_EQ(nans["not_finite"], 1);
}

TEST(ViewWeight, ComplexNumbersAreAProblem) {
  Program p = test::weight_program("w", {DType::f32, {6}}, {1}, {1, 2, 3, 4, 5, 6});
  p.states[0].type = {DType::c64, {3}};
  EXPECT_TRUE(weight_json(p, 0).contains("problem"));
}

}  // namespace
}  // namespace tern::view
