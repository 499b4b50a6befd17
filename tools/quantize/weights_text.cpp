#include <fmt/format.h>

#include <cmath>
#include <set>

#include "tools/quantize/report.h"
#include "tools/quantize/worst.h"
#include "tools/text.h"
#include "tools/text_table.h"

namespace tern {
namespace {

std::string sqnr_text(double v) {
  return std::isfinite(v) ? fmt::format("{:.1f}", v) : v > 0 ? "exact" : "-";
}

/// "int4/64" for groups other than the format's usual ones.
std::string format_text(const QuantizedWeight& w) {
  const bool has_default_block = w.recipe.format == nullptr || w.recipe.block == w.recipe.format->block;
  return has_default_block ? w.format : fmt::format("{}/{}", w.format, w.recipe.block);
}

}  // namespace

std::string weights_text(const QuantizeReport& r) {
  using Align = TextTable::Align;
  TextTable table({{"weight"},
                   {"format"},
                   {"sizes", Align::right},
                   {"SQNR dB", Align::right},
                   {"cosine", Align::right},
                   {"bytes", Align::right}});
  const std::set<const QuantizedWeight*> shown_weights =
      worst_of(r.weights, [](const QuantizedWeight& w) { return std::isnan(w.sqnr) ? -1e9 : w.sqnr; });
  for (const QuantizedWeight& w : r.weights) {
    if (shown_weights.contains(&w)) {
      table.add_row({escape_name(w.name), format_text(w), fmt::format("{} x {}", w.rows, w.columns), sqnr_text(w.sqnr),
                     fmt::format("{:.5f}", w.cosine), human_bytes(w.bytes_after)});
    }
  }
  std::string text = table.str() + others_text(shown_weights.size(), r.weights.size());
  std::size_t kept_count = 0;
  for (const UnquantizedWeight& k : r.unquantized) {
    if (kept_count++ == kMaxRows) {
      text += fmt::format("not quantized: {} more; --json lists all\n", r.unquantized.size() - kMaxRows);
      break;
    }
    text += fmt::format("not quantized: {}: {}\n", escape_name(k.name), escape_name(k.reason, 400));
  }
  return text + fmt::format("{} weight{} quantized: {} instead of {}\n", r.weights.size(),
                            r.weights.size() == 1 ? "" : "s", human_bytes(r.bytes_after()),
                            human_bytes(r.bytes_before()));
}

}  // namespace tern
