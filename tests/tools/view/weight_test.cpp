#include "tools/view/weight.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

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
  EXPECT_DOUBLE_EQ(w["deviation"], std::sqrt(23.0 / 6 - 0.25));  // of 0 1 2 3 -3 0
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
