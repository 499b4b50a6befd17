#include <gtest/gtest.h>

#include "tests/exporter/pt2_sample.h"

namespace tern::pt2::test {
namespace {

// The error for the sample when `meta` describes its weight of 24 bytes.
std::string weight_error(const Json& meta, bool use_pickle = false) {
  Json weights = sample_weights();
  weights["config"]["w"]["tensor_meta"] = meta;
  weights["config"]["w"]["use_pickle"] = use_pickle;
  return open_error(write_zip(sample_items(sample_model(), weights)));
}

Json large_meta(std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides, std::int64_t offset) {
  Json meta = tensor_meta({}, {});
  for (const auto size : sizes) meta["sizes"].push_back({{"as_int", size}});
  for (const auto stride : strides) meta["strides"].push_back({{"as_int", stride}});
  meta["storage_offset"] = {{"as_int", offset}};
  return meta;
}

TEST(Pt2Payload, AcceptsViewsInsideTheStorage) {
  EXPECT_EQ(weight_error(tensor_meta({2, 3}, {3, 1})), "");
  EXPECT_EQ(weight_error(tensor_meta({3, 2}, {1, 3})), "");
  EXPECT_EQ(weight_error(tensor_meta({2}, {1}, 4)), "");
  EXPECT_EQ(weight_error(tensor_meta({1000, 6}, {0, 1})), "");
  EXPECT_EQ(weight_error(tensor_meta({}, {}, 5)), "");
  EXPECT_EQ(weight_error(tensor_meta({0, 3}, {3, 1}, 100)), "");
  EXPECT_EQ(weight_error(tensor_meta({24}, {1}, 0, 33)), "");
}

TEST(Pt2Payload, RefusesViewsOutsideTheStorage) {
  const std::string says =
      "config.w.tensor_meta: the tensor needs 28 bytes of entry 'sample/data/weights/weight_0', which has 24";
  EXPECT_NE(weight_error(tensor_meta({7}, {1})).find(says), std::string::npos);
  EXPECT_NE(weight_error(tensor_meta({2, 3}, {3, 1}, 1)).find(says), std::string::npos);
  EXPECT_NE(weight_error(tensor_meta({2, 3}, {4, 1})).find(says), std::string::npos);
  EXPECT_NE(weight_error(tensor_meta({25}, {1}, 0, 33)).find("needs 25 bytes"), std::string::npos);
  EXPECT_NE(weight_error(tensor_meta({}, {}, 6)).find(says), std::string::npos);
}

TEST(Pt2Payload, RefusesSizesThatOverflow) {
  constexpr std::int64_t kMax = INT64_MAX;
  const std::int64_t edges[] = {(std::int64_t{1} << 31) - 1,
                                std::int64_t{1} << 31,
                                std::int64_t{1} << 32,
                                std::int64_t{1} << 61,
                                std::int64_t{1} << 62,
                                kMax - 1,
                                kMax};
  for (const auto edge : edges) {
    EXPECT_NE(weight_error(large_meta({edge}, {1}, 0)), "") << edge;
    EXPECT_NE(weight_error(large_meta({2}, {edge}, 0)), "") << edge;
    EXPECT_NE(weight_error(large_meta({1}, {1}, edge)), "") << edge;
    EXPECT_NE(weight_error(large_meta({edge, edge}, {1, 1}, 0)), "") << edge;
    EXPECT_NE(weight_error(large_meta({edge, edge}, {edge, edge}, edge)), "") << edge;
  }
  // Shared elements take no storage, yet their number must fit 64 bits.
  EXPECT_NE(weight_error(large_meta({kMax, 2}, {0, 0}, 0)).find("larger than 2^63 bytes"), std::string::npos);
  EXPECT_NE(weight_error(large_meta({-1}, {1}, 0)).find("negative"), std::string::npos);
}

TEST(Pt2Payload, LetsThroughWhatHasNoData) {
  auto items = sample_items();
  items[0].data = "";
  EXPECT_EQ(open_error(write_zip(items)), "");
  EXPECT_EQ(weight_error(tensor_meta({100}, {1}), /*use_pickle=*/true), "");
}

TEST(Pt2Payload, RefusesMissingEntries) {
  Json weights = sample_weights();
  weights["config"]["w"]["path_name"] = "../weight_0";
  const std::string error = open_error(write_zip(sample_items(sample_model(), weights)));
  EXPECT_NE(error.find("config.w.path_name: entry 'sample/data/weights/../weight_0'"), std::string::npos) << error;
}

TEST(Pt2Payload, KeepsObjectsWithoutATensor) {
  Json weights = sample_weights();
  weights["config"]["w"]["tensor_meta"] = nullptr;
  const std::string bytes = write_zip(sample_items(sample_model(), weights));
  EXPECT_FALSE(parse_program(open_text(bytes)).weights.find("w")->has_tensor);
}

TEST(Pt2Payload, RefusesSymbolicSizes) {
  Json meta = tensor_meta({2}, {1});
  meta["sizes"][0] = Json::parse(R"json({"as_expr": {"expr_str": "Symbol('s0')", "hint": null}})json");
  EXPECT_NE(weight_error(meta).find("must be numbers"), std::string::npos);
}

}  // namespace
}  // namespace tern::pt2::test
