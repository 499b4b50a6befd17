#include "tools/quantize/options.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "tools/bounds.h"
#include "tools/text.h"

namespace tern {
namespace {

using namespace quantize;

constexpr int kMinGroup = 8, kMaxGroup = 4096;
/// Formats of --target-sqnr: each takes more bytes than the previous format, and has less error.
constexpr const char* kLadder = "mxfp4,nvfp4,int4,int8";
/// Formats of --bits, and the groups of int4 that they choose from.
constexpr const char* kBudgetLadder = "int4,int8";
constexpr int kBudgetGroups[] = {128, 64, 32};

MxScales parse_scales(const std::string& text) {
  if (text == "floor" || text.empty()) return MxScales::floor;
  if (text == "even") return MxScales::even;
  if (text == "ceil") return MxScales::ceil;
  fail(ErrorCode::invalid_argument, fmt::format("--mx-scales takes floor, even or ceil, not '{}'", escape_name(text)));
}

bool parse_bfloat16_scales(const std::string& text) {
  if (text == "weight" || text.empty()) return false;
  if (text == "bfloat16") return true;
  fail(ErrorCode::invalid_argument, fmt::format("--scales takes weight or bfloat16, not '{}'", escape_name(text)));
}

ScaleRule parse_rule(const std::string& text) {
  if (text == "search" || text.empty()) return ScaleRule::search;
  if (text == "torchao") return ScaleRule::torchao;
  if (text == "gptq") return ScaleRule::gptq;
  fail(ErrorCode::invalid_argument, fmt::format("--rule takes search, torchao or gptq, not '{}'", escape_name(text)));
}

bool is_grouped(const Format& f) {
  return f.scheme == Scheme::integers && f.block != 0;
}

Recipe parse_format(std::string_view name, const QuantizeArguments& a) {
  const Format* const format = find_format(name);
  if (format == nullptr)
    fail(ErrorCode::invalid_argument, fmt::format("--quantize takes {}, not '{}'", format_names(), escape_name(name)));
  const bool grouped = is_grouped(*format);
  const bool given_mode = format->scheme == Scheme::microscaling && !a.mx_scales.empty();
  const Activations activations = find_activations(a.activations);
  return {.format = format,
          .block = grouped ? a.group.value_or(format->block) : format->block,
          .mx_scales = parse_scales(a.mx_scales),
          .activations = format->activations == activations ? activations : Activations::floats,
          .bfloat16_scales = grouped && (parse_bfloat16_scales(a.scales) || (a.bits && a.scales.empty())),
          .rule = given_mode ? ScaleRule::torchao : parse_rule(a.rule)};
}

FormatLadder parse_ladder(const std::string& text, const QuantizeArguments& a) {
  const std::size_t colon = text.find(':');
  FormatLadder ladder{{}, colon == std::string::npos ? "" : text.substr(colon + 1)};
  std::string_view names = std::string_view(text).substr(0, colon);
  while (true) {
    const std::size_t comma = names.find(',');
    const Recipe recipe = parse_format(names.substr(0, comma), a);
    if (std::ranges::find(ladder.recipes, recipe.format, &Recipe::format) != ladder.recipes.end())
      fail(ErrorCode::invalid_argument,
           fmt::format("--quantize {}: '{}' occurs twice", escape_name(text), recipe.format->name));
    if (a.bits && !a.group && is_grouped(*recipe.format)) {
      for (const int group : kBudgetGroups) {
        ladder.recipes.push_back(recipe);
        ladder.recipes.back().block = group;
      }
    } else {
      ladder.recipes.push_back(recipe);
    }
    if (comma == std::string_view::npos) break;
    names.remove_prefix(comma + 1);
  }
  if (colon != std::string::npos && ladder.pattern.empty())
    fail(ErrorCode::invalid_argument, fmt::format("--quantize {}: a pattern must follow the colon", escape_name(text)));
  if (ladder.recipes.size() > 1 && !a.chooses())
    fail(ErrorCode::invalid_argument,
         fmt::format("--quantize {}: with several formats give --target-sqnr or --bits, which choose from them",
                     escape_name(text)));
  return ladder;
}

/// Rejects options without the options they depend on.
void check_company(const QuantizeArguments& a) {
  if (!a.calibrate.empty() && !a.is_enabled())
    fail(ErrorCode::invalid_argument, "--calibrate needs --quantize, --target-sqnr or --bits");
  if (a.target && a.calibrate.empty())
    fail(ErrorCode::invalid_argument, "--target-sqnr needs example inputs: give them with --calibrate");
  if (a.bits && a.calibrate.empty())
    fail(ErrorCode::invalid_argument, "--bits needs example inputs: give them with --calibrate");
  if (a.bits && a.target)
    fail(ErrorCode::invalid_argument,
         "--bits and --target-sqnr exclude each other: one limits bytes, the other errors");
  if (!a.rule.empty() && !a.is_enabled()) fail(ErrorCode::invalid_argument, "--rule needs --quantize");
  if (a.awq && a.calibrate.empty())
    fail(ErrorCode::invalid_argument, "--awq needs example inputs: give them with --calibrate");
  if (a.rule == "gptq" && a.calibrate.empty())
    fail(ErrorCode::invalid_argument, "--rule gptq needs example inputs: give them with --calibrate");
  if (a.draws && !a.is_enabled()) fail(ErrorCode::invalid_argument, "--report needs --quantize");
  if (!a.function.empty() && a.calibrate.empty()) fail(ErrorCode::invalid_argument, "--function needs --calibrate");
}

void check_formats(const QuantizeArguments& a, const std::vector<FormatLadder>& ladders) {
  const auto any_format = [&](auto predicate) {
    return std::ranges::any_of(ladders, [&](const FormatLadder& l) {
      return std::ranges::any_of(l.recipes, [&](const Recipe& r) { return predicate(*r.format); });
    });
  };
  const Activations activations = find_activations(a.activations);
  if (!a.mx_scales.empty() && activations != Activations::mx &&
      !any_format([](const Format& f) { return f.scheme == Scheme::microscaling; })) {
    fail(ErrorCode::invalid_argument,
         "--mx-scales needs an MX format: --quantize mxfp4 or another one, or --activations mx");
  }
  const bool grouped = any_format(is_grouped);
  if (a.group && !grouped) fail(ErrorCode::invalid_argument, "--group needs --quantize int4");
  if (!a.scales.empty() && !grouped) fail(ErrorCode::invalid_argument, "--scales needs --quantize int4");
  if (a.activations.empty() || any_format([&](const Format& f) { return f.activations == activations; })) return;
  fail(ErrorCode::invalid_argument,
       fmt::format("--activations {} needs weights in {}: give one of them with --quantize", a.activations,
                   format_names_beside(activations)));
}

}  // namespace

std::vector<FormatLadder> parse_quantize(const QuantizeArguments& a) {
  check_company(a);
  parse_rule(a.rule);
  parse_scales(a.mx_scales);
  parse_bfloat16_scales(a.scales);
  if (a.group && (*a.group < kMinGroup || *a.group > kMaxGroup || *a.group % 2 != 0)) {
    fail(ErrorCode::invalid_argument,
         fmt::format("--group takes an even number from {} to {}, not {}", kMinGroup, kMaxGroup, *a.group));
  }
  if (!a.activations.empty() && find_activations(a.activations) == Activations::floats) {
    fail(ErrorCode::invalid_argument,
         fmt::format("--activations takes {}, not '{}'", activation_names(), escape_name(a.activations)));
  }
  std::vector<FormatLadder> ladders;
  for (const std::string& text : a.formats) ladders.push_back(parse_ladder(text, a));
  if (ladders.empty() && a.chooses()) ladders.push_back(parse_ladder(a.bits ? kBudgetLadder : kLadder, a));
  check_formats(a, ladders);
  return ladders;
}

std::vector<QuantizeRule> rules_at(const std::vector<FormatLadder>& ladders, std::size_t rung) {
  std::vector<QuantizeRule> rules;
  rules.reserve(ladders.size());
  for (const FormatLadder& l : ladders) rules.push_back({l.recipes[std::min(rung, l.recipes.size() - 1)], l.pattern});
  return rules;
}

std::size_t rungs_of(const std::vector<FormatLadder>& ladders) {
  std::size_t rungs = 0;
  for (const FormatLadder& l : ladders) rungs = std::max(rungs, l.recipes.size());
  return rungs;
}

void add_quantize_options(Command c, QuantizeArguments& a) {
  c.add_option("--quantize", a.formats,
               "Store the weights of products and embeddings in FORMAT: int8, int4, float8, mxfp4, mxfp6_e2m3, "
               "mxfp6_e3m2, mxfp8_e4m3, mxfp8_e5m2 or nvfp4. FORMAT:PATTERN is for the nodes whose module path, ATen "
               "operator or op matches PATTERN (* ? []). May be repeated: the last match applies. With --target-sqnr "
               "and --bits, FORMAT,FORMAT is a choice")
      .type_name("FORMAT[:PATTERN]");
  c.add_option("--group", a.group, "With --quantize int4: elements that share a scale (default: 32)")
      .type_name("NUMBER");
  c.add_option("--rule", a.rule,
               "With --quantize: search, scales with the least squared error of several candidates; torchao, scales "
               "from the largest magnitude, with torchao's bits; or gptq, search, and with --calibrate each column's "
               "error is corrected by later columns (default: search)")
      .type_name("RULE");
  c.add_flag("--awq", a.awq,
             "With --calibrate: multiply the columns of weights whose inputs are large, and divide the norm or product "
             "before, so that these columns lose less by rounding");
  c.add_option("--scales", a.scales,
               "With --quantize int4: weight, scales of the weight's type, or bfloat16, which "
               "takes 10 % fewer bytes where weights are float32 (default: weight)")
      .type_name("TYPE");
  c.add_option("--mx-scales", a.mx_scales,
               "With an MX format or --activations mx: floor, even or ceil, how a block's scale follows from its "
               "largest magnitude (default: weights search, activations take floor)")
      .type_name("MODE");
  c.add_option("--activations", a.activations,
               "Each run also quantizes the activations that weights multiply. int8: rows, with int8 weights; "
               "products multiply integers. float8: rows, with float8 weights. mx: blocks of 32, with mxfp4, mxfp6, "
               "mxfp8, nvfp4 and int4 weights")
      .type_name("TYPE");
  c.add_option("--calibrate", a.calibrate,
               "With --quantize: run the program on these inputs, as floats and quantized, and report the error of "
               "each layer and result. A .safetensors, .npz or .npy file holds a sample (or several: call0.NAME, "
               "call1.NAME), a folder one in each file; NAME=FILE is an input that all samples share. May be repeated")
      .type_name("[NAME=]DATA");
  require_range(
      c.add_option("--target-sqnr", a.target,
                   "With --calibrate: give each weight the smallest format with which all results keep this SQNR, "
                   "in dB, of those that --quantize lists (default: mxfp4,nvfp4,int4,int8), or leave it as it is"),
      bounds::kDecibels);
  require_range(
      c.add_option("--bits", a.bits,
                   "With --calibrate: choose the formats with the least error of the results that take at most this "
                   "many bits for each number of the weights, scales included, of those that --quantize lists "
                   "(default: int4 in groups of 128, 64 or 32 with bfloat16 scales, int8), or leave weights as they "
                   "are"),
      bounds::kBits);
  c.add_option("-f,--function", a.function, "With --calibrate: the function to run, if there are several")
      .type_name("NAME");
  const Option report = c.add_option(
      "--report", a.chart,
      "Draw the error by layer, or by weight without --calibrate, on the terminal, or as an SVG image in FILE.svg");
  report.expected(0, 1).type_name("[FILE.svg]").check([](const std::string& text) {
    return text.empty() || text.ends_with(".svg")
               ? std::string()
               : fmt::format("takes a name that ends in .svg, not '{}'; without a name, give it last",
                             escape_name(text));
  });
}

}  // namespace tern
