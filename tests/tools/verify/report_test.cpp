// Limits, and contents of reports.
#include "tools/verify/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace tern {
namespace {

/// A row of two elements; the second deviates by `error`.
ResultDeviation deviating_result(const std::string& name, double error) {
  ResultDeviation r{name, 0, DType::f32, {1, 2}, {}, {}};
  FirstAnswers answers(2);
  for (const auto& [reference, actual] : {std::pair{3.0, 3.0}, std::pair{4.0, 4 - error}}) {
    r.deviation.add(reference, actual);
    answers.add(reference, actual, r.deviation);
  }
  return r;
}

Limits make_limits(std::optional<double> cosine, std::optional<double> sqnr, std::optional<double> agreement) {
  return {cosine, sqnr, agreement};
}

TEST(VerifyLimits, AResultThatIsNotExactEnough) {
  const Compared c{"bfloat16", "float32", {deviating_result("a", 0), deviating_result("b", 0.5)}};  // 20 dB, 0.9956
  EXPECT_TRUE(broken_limits(c, {}, false).empty());
  EXPECT_TRUE(broken_limits(c, make_limits(0.99, 19, 1), false).empty());
  const std::vector<std::string> sqnr = broken_limits(c, make_limits({}, 21, {}), false);
  ASSERT_EQ(sqnr.size(), 1u);
  EXPECT_EQ(sqnr[0], "b: 20.00 dB are 1.00 dB below --min-sqnr 21");
  const std::vector<std::string> all = broken_limits(c, make_limits(0.999, 21, {}), true);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].find("b of call 0: the cosine is 0.99"), 0u) << all[0];
}

TEST(VerifyLimits, FirstAnswers) {
  const Compared c{"bfloat16", "float32", {deviating_result("b", 2)}};
  const std::vector<std::string> broken = broken_limits(c, make_limits({}, {}, 0.5), false);
  ASSERT_EQ(broken.size(), 1u);
  EXPECT_EQ(broken[0], "b: 0 of 1 first answers (0.00 %) are the same, below --min-agreement 0.5");
}

TEST(VerifyLimits, NaNFailsEveryLimit) {
  Compared c{"bfloat16", "float32", {deviating_result("a", 0)}};
  c.results[0].deviation.add(1, std::nan(""));
  EXPECT_TRUE(broken_limits(c, {}, false).empty());
  const std::vector<std::string> broken = broken_limits(c, make_limits({}, 3, {}), false);
  ASSERT_EQ(broken.size(), 1u);
  EXPECT_EQ(broken[0], "a: NaN or infinite in only one of the runs: 1 of 3 elements");
}

TEST(VerifyLimits, OtherSizesFailWithoutALimit) {
  Compared c{"bfloat16", "float32", {deviating_result("a", 0)}};
  c.results[0].mismatch = "float32[3], not float32[2]";
  EXPECT_EQ(broken_limits(c, {}, false), std::vector<std::string>{"a: float32[3], not float32[2]"});
}

TEST(VerifyLimits, ALimitThatNothingIsHeldToFails) {
  Compared c{"bfloat16", "float32", {deviating_result("a", 0)}};
  c.results[0].dtype = DType::i64;
  const std::vector<std::string> broken = broken_limits(c, make_limits({}, 30, {}), false);
  ASSERT_EQ(broken.size(), 1u);
  EXPECT_EQ(broken[0], "--min-sqnr 30: the limit applies to no result");
}

struct Sample {
  VerifyReport report;
  Sample() {
    auto program = std::make_shared<Program>();
    program->origins = {{"aten.linear.default", "fc", "model.py:7"}};
    program->functions.emplace_back();
    program->functions[0].name = "forward";
    program->functions[0].nodes.resize(3);
    for (Node& n : program->functions[0].nodes) {
      n.op = Op::matmul;
      n.origin = 0;
    }
    report.program = program;
    report.model = "m.tern";
    report.function = "forward";
    report.results.calls = 2;
    report.results.compared = {
        {"bfloat16", "float32", {deviating_result("a", 0), deviating_result("b", 0), deviating_result("a", 0.5)}}};
    report.results.compared[0].results[2].call = 1;
    report.nodes_asked = true;
    for (const double error : {0.5, 0.0, 1.0}) {
      NodeDeviation& n = report.nodes.emplace_back();
      n.number = static_cast<std::uint32_t>(report.nodes.size() - 1);
      n.isolated = n.accumulated = deviating_result("", error).deviation;
    }
  }
};

TEST(VerifyReport, TextShowsTheWorstCall) {
  const Sample s;
  const std::string text = verify_text(s.report);
  EXPECT_NE(text.find("bfloat16 against float32: the worst of 2 calls"), std::string::npos) << text;
  EXPECT_NE(text.find("20.00"), std::string::npos) << text;
  EXPECT_NE(text.find("exact"), std::string::npos) << text;
  EXPECT_NE(text.find("forward:2"), std::string::npos) << text;
  EXPECT_NE(text.find("aten.linear.default in fc, model.py:7"), std::string::npos) << text;
}

TEST(VerifyReport, TheWorstNodesComeFirst) {
  Sample s;
  EXPECT_EQ(shown_nodes(s.report).size(), 3u);
  s.report.worst = 2;
  const std::vector<NodeDeviation> nodes = shown_nodes(s.report);
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].number, 2u);
  EXPECT_EQ(nodes[1].number, 0u);
}

TEST(VerifyReport, Json) {
  const Sample s;
  const auto j = nlohmann::json::parse(verify_json(s.report));
  const auto& results = j["compared"][0]["results"];
  ASSERT_EQ(results.size(), 3u);
  EXPECT_TRUE(results[0]["exact"]);
  EXPECT_TRUE(results[0]["sqnr_db"].is_null());
  EXPECT_EQ(results[2]["call"], 1);
  EXPECT_NEAR(results[2]["sqnr_db"].get<double>(), 20, 1e-9);
  EXPECT_EQ(results[2]["first_answers"]["of"], 1);
  ASSERT_EQ(j["nodes"].size(), 3u);
  EXPECT_EQ(j["nodes"][0]["module"], "fc");
  EXPECT_TRUE(j["nodes"][1]["own"]["exact"]);
  EXPECT_TRUE(j["limits"]["cosine"].is_null());
}

}  // namespace
}  // namespace tern
