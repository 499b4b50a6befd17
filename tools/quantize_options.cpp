#include "tools/quantize_options.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "tools/text.h"

namespace tern {
namespace {

using namespace quantize;

constexpr int kLeastGroup = 8, kMostGroup = 4096;

MxScales parse_scales(const std::string& text) {
  if (text == "floor" || text.empty()) return MxScales::floor;
  if (text == "even") return MxScales::even;
  if (text == "ceil") return MxScales::ceil;
  fail(ErrorCode::invalid_argument, fmt::format("--mx-scales takes floor, even or ceil, not '{}'", escape_name(text)));
}

}  // namespace

std::vector<QuantizeRule> parse_quantize(const QuantizeArguments& a) {
  const MxScales scales = parse_scales(a.mx_scales);
  if (a.group && (*a.group < kLeastGroup || *a.group > kMostGroup || *a.group % 2 != 0)) {
    fail(ErrorCode::invalid_argument,
         fmt::format("--group takes an even number from {} to {}, not {}", kLeastGroup, kMostGroup, *a.group));
  }
  if (!a.activations.empty() && a.activations != "int8") {
    fail(ErrorCode::invalid_argument, fmt::format("--activations takes int8, not '{}'", escape_name(a.activations)));
  }
  std::vector<QuantizeRule> rules;
  for (const std::string& text : a.formats) {
    const std::size_t colon = text.find(':');
    const std::string name = text.substr(0, colon);
    const Format* const format = find_format(name);
    if (format == nullptr) {
      fail(ErrorCode::invalid_argument,
           fmt::format("--quantize takes {}, not '{}'", format_names(), escape_name(name)));
    }
    if (colon != std::string::npos && colon + 1 == text.size())
      fail(ErrorCode::invalid_argument,
           fmt::format("--quantize {}: a pattern must follow the colon", escape_name(text)));
    const bool grouped = format->scheme == Scheme::integers && format->block != 0;
    rules.push_back({{format, grouped ? a.group.value_or(format->block) : format->block, scales,
                      !a.activations.empty() && format->element == DType::i8},
                     colon == std::string::npos ? "" : text.substr(colon + 1)});
  }
  const auto any = [&](auto is) {
    return std::ranges::any_of(rules, [&](const QuantizeRule& r) { return is(*r.recipe.format); });
  };
  if (!a.mx_scales.empty() && !any([](const Format& f) { return f.scheme == Scheme::microscaling; })) {
    fail(ErrorCode::invalid_argument, "--mx-scales is for MX formats: give it with --quantize mxfp4 or another one");
  }
  if (a.group && !any([](const Format& f) { return f.scheme == Scheme::integers && f.block != 0; }))
    fail(ErrorCode::invalid_argument, "--group is for int4: give it with --quantize int4");
  if (!a.activations.empty() && !any([](const Format& f) { return f.element == DType::i8; }))
    fail(ErrorCode::invalid_argument, "--activations int8 is for int8 weights: give it with --quantize int8");
  return rules;
}

}  // namespace tern
