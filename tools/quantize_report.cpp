#include "tools/quantize_report.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>

#include "tools/sizes.h"
#include "tools/text.h"
#include "tools/text_table.h"

namespace tern {
namespace {

constexpr std::size_t kMostRows = 40;  // of a table

struct Totals {
  std::uint64_t before = 0, after = 0;
};

Totals totals_of(const QuantizeReport& r) {
  Totals t;
  for (const QuantizedWeight& w : r.weights) {
    t.before += w.before;
    t.after += w.after;
  }
  return t;
}

/// JSON has no infinity and no NaN.
std::string number_json(double v) {
  return std::isfinite(v) ? fmt::format("{:.6g}", v) : "null";
}

std::string sqnr_text(double v) {
  return std::isfinite(v) ? fmt::format("{:.1f}", v) : v > 0 ? "exact" : "-";
}

}  // namespace

std::string quantize_text(const QuantizeReport& r) {
  using Align = TextTable::Align;
  TextTable table({{"weight"},
                   {"format"},
                   {"sizes", Align::right},
                   {"SQNR dB", Align::right},
                   {"cosine", Align::right},
                   {"bytes", Align::right}});
  // The worst ones matter most when there are many.
  std::multimap<double, const QuantizedWeight*> worst;
  for (const QuantizedWeight& w : r.weights) worst.emplace(std::isnan(w.sqnr) ? -1e9 : w.sqnr, &w);
  std::set<const QuantizedWeight*> shown;
  for (const auto& [sqnr, w] : worst) {
    if (shown.size() < kMostRows) shown.insert(w);
  }
  for (const QuantizedWeight& w : r.weights) {
    if (shown.contains(&w)) {
      table.add_row({escape_name(w.name), w.format, fmt::format("{} x {}", w.rows, w.columns), sqnr_text(w.sqnr),
                     fmt::format("{:.5f}", w.cosine), human_bytes(w.after)});
    }
  }
  std::string text = table.str();
  if (shown.size() < r.weights.size())
    text += fmt::format("and {} more with less error; --json lists all\n", r.weights.size() - shown.size());
  std::size_t kept = 0;
  for (const KeptWeight& k : r.kept) {
    if (kept++ == kMostRows) {
      text += fmt::format("not quantized: {} more; --json lists all\n", r.kept.size() - kMostRows);
      break;
    }
    text += fmt::format("not quantized: {}: {}\n", escape_name(k.name), escape_name(k.reason, 400));
  }
  const Totals t = totals_of(r);
  return text + fmt::format("{} weight{} quantized: {} instead of {}\n", r.weights.size(),
                            r.weights.size() == 1 ? "" : "s", human_bytes(t.after), human_bytes(t.before));
}

std::string quantize_json(const QuantizeReport& r) {
  std::string weights, kept;
  for (const QuantizedWeight& w : r.weights) {
    weights += fmt::format(
        "{}{{\"weight\": \"{}\", \"module\": \"{}\", \"format\": \"{}\", \"rows\": {}, \"columns\": {}, "
        "\"sqnr_db\": {}, \"cosine\": {}, \"bytes_before\": {}, \"bytes\": {}}}",
        weights.empty() ? "" : ", ", json_escape(w.name), json_escape(w.module), w.format, w.rows, w.columns,
        number_json(w.sqnr), number_json(w.cosine), w.before, w.after);
  }
  for (const KeptWeight& k : r.kept) {
    kept += fmt::format("{}{{\"weight\": \"{}\", \"reason\": \"{}\", \"bytes\": {}}}", kept.empty() ? "" : ", ",
                        json_escape(k.name), json_escape(k.reason), k.bytes);
  }
  const Totals t = totals_of(r);
  return fmt::format(", \"quantized\": {{\"bytes_before\": {}, \"bytes\": {}, \"weights\": [{}], \"kept\": [{}]}}",
                     t.before, t.after, weights, kept);
}

}  // namespace tern
