// Times of the algorithms of a node: ratios from figures by hand, and a measured program.
#include "tools/choices.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/random_floats.h"
#include "tests/runtime/support.h"
#include "threads/threads.h"

namespace tern {
namespace {

using testing::TestProgram;

NodeChoice choice_of(double chosen, double other, std::size_t nodes) {
  return {"forward",
          4,
          "convolution [1, 3, 8, 8] by [4, 3, 3, 3]",
          nodes,
          {{"blocks", chosen, 2e-3}, {"planes", other, 0}}};
}

TEST(Choices, ListsNodesAboveTheLimit) {
  const std::vector<NodeChoice> choices = {choice_of(3e-3, 2e-3, 5), choice_of(2.1e-3, 2e-3, 1),
                                           choice_of(1e-3, 2e-3, 1)};
  EXPECT_DOUBLE_EQ(choices[0].slowdown(), 1.5);
  EXPECT_DOUBLE_EQ(choices[0].gain(), 5e-3);
  EXPECT_EQ(choices[2].fastest().algorithm, "blocks");
  EXPECT_EQ(choices[2].gain(), 0);
  const std::string text = choices_text(choices);
  EXPECT_NE(text.find("1 of 3 choices take more than 1.1 times the best algorithm"), std::string::npos) << text;
  EXPECT_NE(text.find("5 x convolution [1, 3, 8, 8] by [4, 3, 3, 3]: blocks 3.0000 ms, planes 2.0000 ms"),
            std::string::npos)
      << text;
  const auto json = nlohmann::json::parse(choices_json(choices));
  EXPECT_EQ(json.size(), 3U);
  EXPECT_EQ(json[0]["to_the_best"], 1.5);
  EXPECT_EQ(json[0]["algorithms"][0]["estimate_ms"], 2.0);
  EXPECT_FALSE(json[0]["algorithms"][1].contains("estimate_ms"));
}

TEST(Choices, MeasuresEachAlgorithmOfAProduct) {
  constexpr std::int64_t kRows = 40, kDepth = 64, kColumns = 48;
  TestProgram p;
  const ValueId w = p.state({kColumns, kDepth}, test::random_floats(kColumns * kDepth, 1), false),
                x = p.input(DType::f32, {kRows, kDepth});
  p.output(p.b().matmul(x, p.b().transpose(w, 0, 1)));
  const ThreadScope scope((Threads(1)));
  const std::vector<NodeChoice> choices =
      measure_choices(p.model(), {p.model().functions()[0].name, {Tensor(DType::f32, {kRows, kDepth})}, {}, 0});
  ASSERT_EQ(choices.size(), 1U);
  EXPECT_EQ(choices[0].description, "matmul [40, 64] by [64, 48]");
  EXPECT_GE(choices[0].slowdown(), 1);
  bool has_blocks = false;
  for (const AlgorithmTime& t : choices[0].algorithms) {
    EXPECT_GT(t.seconds, 0) << t.algorithm;
    has_blocks = has_blocks || t.algorithm == "blocks";
  }
  EXPECT_TRUE(has_blocks);
}

}  // namespace
}  // namespace tern
