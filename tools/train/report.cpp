#include "tools/train/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tools/json_text.h"
#include "tools/text.h"

namespace tern::train {
namespace {

constexpr std::size_t kCurvePoints = 200;

/// Processors give NaN a sign, which means nothing.
double unsigned_nan(double x) {
  return std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x;
}

/// Mean over the taken steps of the last epoch.
double mean_of_epoch(const std::vector<double>& losses, std::size_t epoch, std::uint64_t steps_each) {
  double sum = 0, count = 0;
  for (std::size_t i = epoch * steps_each; i < losses.size(); ++i) {
    if (std::isnan(losses[i])) continue;
    sum += losses[i];
    ++count;
  }
  return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::string epoch_text(const History& history, std::uint64_t epochs, const Trainer& trainer) {
  const EpochFigures& e = history.epochs.back();
  std::string text = fmt::format("epoch {}/{}  loss {:.4g}", history.epochs.size(), epochs, e.loss);
  for (std::size_t i = 0; i < history.further_losses.size(); ++i) {
    const double mean = mean_of_epoch(history.further_losses[i], history.epochs.size() - 1, trainer.steps_each());
    text +=
        fmt::format("  {} loss {:.4g}", escape_name(trainer.methods().further[i].function.name), unsigned_nan(mean));
  }
  if (e.held_out_loss) text += fmt::format("  held-out loss {:.4g}", unsigned_nan(*e.held_out_loss));
  if (e.held_out_accuracy) text += fmt::format(", accuracy {:.2f} %", *e.held_out_accuracy * 100);
  for (std::size_t i = 0; i < e.metrics.size(); ++i)
    text += fmt::format(", {} {:.4g}", trainer.options().metrics.at(i), unsigned_nan(e.metrics[i]));
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
  using Json = nlohmann::ordered_json;
  const History& h = trainer.history();
  Json document = {{"model", options.model},
                   {"data", options.data},
                   {"output", options.output},
                   {"complete", complete},
                   {"steps", h.position.step},
                   {"samples", trainer.trained_samples()},
                   {"held_out_samples", trainer.held_out_samples()},
                   {"batch", trainer.batch()},
                   {"accumulate", options.accumulate},
                   {"seed", options.seed},
                   {"epochs", Json::array()},
                   {"losses", Json::array()}};
  for (const EpochFigures& e : h.epochs) {
    Json epoch = {{"loss", json_number(e.loss)}};
    if (e.held_out_loss) epoch["held_out_loss"] = json_number(*e.held_out_loss);
    if (e.held_out_accuracy) epoch["held_out_accuracy"] = json_number(*e.held_out_accuracy);
    for (std::size_t i = 0; i < e.metrics.size(); ++i)
      epoch["metrics"][trainer.options().metrics.at(i)] = json_number(e.metrics[i]);
    epoch["lr"] = json_number(e.rate);
    epoch["seconds"] = json_rounded(e.seconds, 4);
    document["epochs"].push_back(std::move(epoch));
  }
  for (const double loss : h.losses) document["losses"].push_back(json_number(loss));
  if (const auto best = trainer.stopped_at()) document["best_epoch"] = *best + 1;
  if (!h.gradient_norms.empty()) {
    document["gradient_norms"] = Json::array();
    for (const double norm : h.gradient_norms) document["gradient_norms"].push_back(json_number(norm));
  }
  Json further = Json::object();
  for (std::size_t i = 0; i < h.further_losses.size(); ++i) {
    Json losses = Json::array();
    for (const double loss : h.further_losses[i]) losses.push_back(json_number(loss));
    further[trainer.methods().further[i].function.name] = std::move(losses);
  }
  if (!further.empty()) document["further_losses"] = std::move(further);
  return json_text(document) + "\n";
}

}  // namespace tern::train
