// Lists of formats, and dependent options.
#include "tools/quantize/options.h"

#include <gtest/gtest.h>

#include "tests/tools/support.h"

namespace tern {
namespace {

using test::error_of;

QuantizeArguments target_arguments(std::vector<std::string> formats) {
  QuantizeArguments a;
  a.formats = std::move(formats);
  a.calibrate = {"samples"};
  a.target = 30;
  return a;
}

std::vector<std::string> names_of(const std::vector<QuantizeRule>& rules) {
  std::vector<std::string> names;
  names.reserve(rules.size());
  for (const QuantizeRule& r : rules) names.push_back(std::string(r.recipe.format->name) + ":" + r.pattern);
  return names;
}

TEST(QuantizeOptions, EachLadderEndsWithItsLastFormat) {
  const std::vector<FormatLadder> ladders = parse_quantize(target_arguments({"mxfp4,int4,int8", "int8:lm_head"}));
  EXPECT_EQ(rungs_of(ladders), 3u);
  EXPECT_EQ(names_of(rules_at(ladders, 0)), (std::vector<std::string>{"mxfp4:", "int8:lm_head"}));
  EXPECT_EQ(names_of(rules_at(ladders, 2)), (std::vector<std::string>{"int8:", "int8:lm_head"}));
}

TEST(QuantizeOptions, ATargetAloneHasALadder) {
  const std::vector<FormatLadder> ladders = parse_quantize(target_arguments({}));
  ASSERT_EQ(ladders.size(), 1u);
  EXPECT_EQ(names_of(rules_at(ladders, 0)), std::vector<std::string>{"mxfp4:"});
  EXPECT_EQ(names_of(rules_at(ladders, 9)), std::vector<std::string>{"int8:"});
}

TEST(QuantizeOptions, OptionsOfFormatsHoldInLists) {
  QuantizeArguments a = target_arguments({"mxfp4,int4,int8"});
  a.group = 64;
  a.scales = "bfloat16";
  a.mx_scales = "even";
  a.activations = "int8";
  const std::vector<quantize::Recipe> recipes = parse_quantize(a)[0].recipes;
  EXPECT_EQ(recipes[0].mx_scales, quantize::MxScales::even);
  EXPECT_EQ(recipes[1].block, 64);
  EXPECT_TRUE(recipes[1].bfloat16_scales);
  EXPECT_FALSE(recipes[0].bfloat16_scales || recipes[2].bfloat16_scales);
  EXPECT_EQ(recipes[1].activations, quantize::Activations::floats);
  EXPECT_EQ(recipes[2].activations, quantize::Activations::int8);
}

TEST(QuantizeOptions, TheRuleOfScalesIsASearchUnlessGiven) {
  using quantize::ScaleRule;
  QuantizeArguments a = target_arguments({"mxfp4,int4,int8"});
  const auto rules = [&] {
    std::vector<ScaleRule> all;
    const std::vector<FormatLadder> ladders = parse_quantize(a);
    for (const quantize::Recipe& r : ladders[0].recipes) all.push_back(r.rule);
    return all;
  };
  EXPECT_EQ(rules(), (std::vector<ScaleRule>{ScaleRule::search, ScaleRule::search, ScaleRule::search}));
  a.mx_scales = "floor";
  EXPECT_EQ(rules(), (std::vector<ScaleRule>{ScaleRule::torchao, ScaleRule::search, ScaleRule::search}));
  a.rule = "torchao";
  EXPECT_EQ(rules(), (std::vector<ScaleRule>{ScaleRule::torchao, ScaleRule::torchao, ScaleRule::torchao}));
  a.rule = "awq";
  EXPECT_NE(
      error_of([&] { parse_quantize(a); }, ErrorCode::invalid_argument).find("search, torchao or gptq, not 'awq'"),
      std::string::npos);
}

TEST(QuantizeOptions, ActivationsAreForTheFormatsThatCanHaveThem) {
  QuantizeArguments a = target_arguments({"mxfp4,int4,float8,int8"});
  a.activations = "mx";
  a.mx_scales = "ceil";
  const std::vector<FormatLadder> ladders = parse_quantize(a);
  std::vector<bool> mx;
  for (const quantize::Recipe& r : ladders[0].recipes) mx.push_back(r.activations == quantize::Activations::mx);
  EXPECT_EQ(mx, (std::vector<bool>{true, true, false, false}));
}

TEST(QuantizeOptions, Refused) {
  const auto refused = [](const QuantizeArguments& a) {
    return error_of([&] { parse_quantize(a); }, ErrorCode::invalid_argument);
  };
  EXPECT_EQ(refused(target_arguments({"int8,"})).find("--quantize takes int8, int4"), 0u);
  EXPECT_EQ(refused(target_arguments({"int8,int9"})).find("--quantize takes int8, int4"), 0u);
  EXPECT_NE(refused(target_arguments({"int8,int4,int8"})).find("'int8' occurs twice"), std::string::npos);
  EXPECT_NE(refused(target_arguments({"int8:"})).find("a pattern must follow"), std::string::npos);
  QuantizeArguments list = target_arguments({"int8,int4"});
  list.target.reset();
  EXPECT_NE(refused(list).find("give --target-sqnr"), std::string::npos);
  QuantizeArguments no_data = target_arguments({"int8"});
  no_data.calibrate.clear();
  EXPECT_NE(refused(no_data).find("give them with --calibrate"), std::string::npos);
  QuantizeArguments activations = target_arguments({"int4,int8"});
  activations.activations = "float8";
  EXPECT_NE(refused(activations).find("--activations float8 needs weights in float8"), std::string::npos);
  activations.activations = "mx";
  activations.formats = {"int8", "float8"};
  EXPECT_NE(refused(activations).find("--activations mx needs weights in int4, mxfp4, "), std::string::npos);
  activations.activations = "bfloat16";
  EXPECT_NE(refused(activations).find("--activations takes int8, float8 or mx, not 'bfloat16'"), std::string::npos);
  QuantizeArguments scales = target_arguments({"int8"});
  scales.scales = "bfloat16";
  EXPECT_NE(refused(scales).find("--scales needs --quantize int4"), std::string::npos);
  scales.scales = "float32";
  EXPECT_NE(refused(scales).find("--scales takes weight or bfloat16, not 'float32'"), std::string::npos);
  QuantizeArguments drawn;
  drawn.draws = true;
  EXPECT_NE(refused(drawn).find("--report needs --quantize"), std::string::npos);
}

TEST(QuantizeOptions, BitsChooseGroupsToo) {
  QuantizeArguments a;
  a.calibrate = {"samples"};
  a.bits = 4.5;
  const std::vector<quantize::Recipe> recipes = parse_quantize(a)[0].recipes;
  ASSERT_EQ(recipes.size(), 4u);
  EXPECT_EQ(recipes[0].block, 128);
  EXPECT_EQ(recipes[2].block, 32);
  EXPECT_TRUE(recipes[0].bfloat16_scales);
  EXPECT_EQ(recipes[3].format->name, "int8");
  a.group = 64;
  a.scales = "weight";
  const std::vector<quantize::Recipe> fixed = parse_quantize(a)[0].recipes;
  ASSERT_EQ(fixed.size(), 2u);
  EXPECT_EQ(fixed[0].block, 64);
  EXPECT_FALSE(fixed[0].bfloat16_scales);
  a.target = 30;
  EXPECT_NE(error_of([&] { parse_quantize(a); }, ErrorCode::invalid_argument).find("exclude each other"),
            std::string::npos);
}

TEST(QuantizeOptions, FeedbackNeedsSamples) {
  QuantizeArguments a;
  a.formats = {"int4"};
  a.rule = "gptq";
  EXPECT_NE(error_of([&] { parse_quantize(a); }, ErrorCode::invalid_argument).find("needs example inputs"),
            std::string::npos);
  a.calibrate = {"samples"};
  EXPECT_EQ(parse_quantize(a)[0].recipes[0].rule, quantize::ScaleRule::gptq);
}

}  // namespace
}  // namespace tern
