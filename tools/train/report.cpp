#include "tools/train/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/text.h"

namespace tern::train {
namespace {

constexpr std::size_t kCurvePoints = 200;

/// A number with all digits; null for infinity and NaN, missing in JSON.
std::string json_number(double x) {
  return std::isfinite(x) ? fmt::format("{}", x) : "null";
}

/// Removes the sign of NaN: processors set a meaningless sign.
double unsigned_nan(double x) {
  return std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x;
}

}  // namespace

std::string epoch_text(const History& history, std::uint64_t epochs) {
  const EpochFigures& e = history.epochs.back();
  std::string text = fmt::format("epoch {}/{}  loss {:.4g}", history.epochs.size(), epochs, e.loss);
  if (e.held_out_loss) text += fmt::format("  held-out loss {:.4g}", unsigned_nan(*e.held_out_loss));
  if (e.held_out_accuracy) text += fmt::format(", accuracy {:.2f} %", *e.held_out_accuracy * 100);
  return text + fmt::format("  lr {:.3g}  {:.2f} s\n", e.rate, e.seconds);
}

Curve curve_of(const History& history, std::uint64_t steps_each) {
  Curve c;
  c.trained = smoothed(history.losses, kCurvePoints);
  for (std::size_t i = 0; i < history.epochs.size(); ++i) {
    const double step = std::min(static_cast<double>((i + 1) * steps_each), static_cast<double>(history.losses.size()));
    if (history.epochs[i].held_out_loss && std::isfinite(*history.epochs[i].held_out_loss))
      c.held_out.push_back({step, *history.epochs[i].held_out_loss});
  }
  return c;
}

std::string report_json(const TrainOptions& options, const Trainer& trainer, bool complete) {
  const History& h = trainer.history();
  std::string epochs, losses;
  for (const EpochFigures& e : h.epochs) {
    epochs += fmt::format("{}\n  {{\"loss\": {}", epochs.empty() ? "" : ",", json_number(e.loss));
    if (e.held_out_loss) epochs += fmt::format(", \"held_out_loss\": {}", json_number(*e.held_out_loss));
    if (e.held_out_accuracy) epochs += fmt::format(", \"held_out_accuracy\": {}", json_number(*e.held_out_accuracy));
    epochs += fmt::format(", \"lr\": {}, \"seconds\": {:.4f}}}", json_number(e.rate), e.seconds);
  }
  for (double loss : h.losses) losses += (losses.empty() ? "" : ", ") + json_number(loss);
  return fmt::format(
      "{{\"model\": \"{}\", \"data\": \"{}\", \"output\": \"{}\", \"complete\": {},\n \"steps\": {}, \"samples\": {}, "
      "\"held_out_samples\": {}, \"batch\": {}, \"accumulate\": {}, \"seed\": {},\n \"epochs\": [{}],\n \"losses\": "
      "[{}]}}\n",
      json_escape(options.model), json_escape(options.data), json_escape(options.output), complete, h.position.step,
      trainer.trained_samples(), trainer.held_out_samples(), trainer.batch(), options.accumulate, options.seed, epochs,
      losses);
}

}  // namespace tern::train
