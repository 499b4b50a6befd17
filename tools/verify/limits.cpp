#include "tools/verify/limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/text.h"

namespace tern {
namespace {

/// A kind of limit.
struct Rule {
  const char* option;
  const std::optional<double>& minimum;
  std::optional<double> (*measured)(const ResultDeviation&);
  std::string (*text)(const Deviation&, double minimum);
};

bool has_numbers(const ResultDeviation& r) {
  return is_floating(r.dtype) || is_complex(r.dtype);
}

std::optional<double> cosine(const ResultDeviation& r) {
  return has_numbers(r) ? std::optional(r.deviation.cosine()) : std::nullopt;
}
std::optional<double> sqnr(const ResultDeviation& r) {
  return has_numbers(r) ? std::optional(r.deviation.sqnr()) : std::nullopt;
}
std::optional<double> agreement(const ResultDeviation& r) {
  return r.deviation.agreement();
}

std::string cosine_text(const Deviation& d, double minimum) {
  return fmt::format("the cosine is {:.8f}, {:.2g} below", d.cosine(), minimum - d.cosine());
}
std::string sqnr_text(const Deviation& d, double minimum) {
  return fmt::format("{:.2f} dB are {:.2f} dB below", d.sqnr(), minimum - d.sqnr());
}
std::string agreement_text(const Deviation& d, double) {
  return fmt::format("{} of {} first answers ({:.2f} %) are the same, below", d.same_rows, d.rows,
                     100 * *d.agreement());
}

}  // namespace

std::vector<std::string> broken_limits(const Compared& compared, const Limits& limits, bool several_calls) {
  const Rule rules[] = {{"--min-cosine", limits.cosine, cosine, cosine_text},
                        {"--min-sqnr", limits.sqnr, sqnr, sqnr_text},
                        {"--min-agreement", limits.agreement, agreement, agreement_text}};
  std::vector<std::string> broken;
  for (const ResultDeviation& r : compared.results) {
    const std::string name = escape_name(r.name) + (several_calls ? fmt::format(" of call {}", r.call) : std::string());
    if (!r.mismatch.empty()) {
      broken.push_back(fmt::format("{}: {}", name, r.mismatch));
      continue;
    }
    if (limits.has_limits() && r.deviation.not_finite > 0)
      broken.push_back(fmt::format("{}: NaN or infinite in only one of the runs: {} of {} elements", name,
                                   r.deviation.not_finite, r.deviation.elements));
    for (const Rule& rule : rules) {
      const std::optional<double> value = rule.measured(r);
      if (!rule.minimum || !value || *value >= *rule.minimum) continue;
      broken.push_back(
          fmt::format("{}: {} {} {:g}", name, rule.text(r.deviation, *rule.minimum), rule.option, *rule.minimum));
    }
  }
  for (const Rule& rule : rules) {
    const auto applies = [&](const ResultDeviation& r) { return rule.measured(r).has_value(); };
    if (rule.minimum && std::ranges::none_of(compared.results, applies))
      broken.push_back(fmt::format("{} {:g}: the limit applies to no result", rule.option, *rule.minimum));
  }
  return broken;
}

}  // namespace tern
