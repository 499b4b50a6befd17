#include "tools/quantize/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

namespace tern {
namespace {

/// Reason for a weight that stays in floats: its layer's error in `format`.
std::string layer_error_text(const WeightLadder& ladder, const WeightEffect& effect, std::size_t format) {
  const std::string_view name = ladder.formats[format].recipe.format->name;
  if (effect.relative_errors.empty()) return fmt::format("{} changes the results too much", name);
  return fmt::format("in {} its layer has {:.1f} dB", name, -10 * std::log10(effect.relative_errors[format]));
}

class Chooser {
 public:
  Chooser(const FloatProgram& program, const Ladders& ladders, const OutputErrors& outputs,
          const std::vector<WeightEffect>& effects, double target, const OnStep& on_step)
      : program_(program), ladders_(ladders), outputs_(outputs), effects_(effects), target_(target), on_step_(on_step) {
    std::vector<std::vector<Rung>> rungs;
    for (const WeightEffect& e : effects_) rungs.push_back(e.rungs);
    order_ = raising_order(rungs);
    std::erase_if(order_.raises, [&](const Raise& r) { return !effects_[r.weight].reached; });
    for (std::size_t w = 0; w < effects_.size(); ++w) {
      const std::vector<WeightFormat>& formats = ladders_.weights[w].formats;
      if (!effects_[w].reached)
        order_.start[w] =
            static_cast<std::size_t>(std::ranges::min_element(formats, {}, &WeightFormat::noise) - formats.begin());
    }
  }

  ChosenFormats run() {
    const std::size_t raise_count = order_.raises.size();
    expected_trials_ = 2 + static_cast<std::size_t>(std::bit_width(raise_count));
    if (meets_target(0)) return formats_after(0);
    // Bisection. `low` misses the target; `high` meets the target, or is all raises: floats everywhere.
    std::size_t low = 0, high = raise_count;
    while (high - low > 1) {
      const std::size_t mid = low + (high - low) / 2;
      (meets_target(mid) ? high : low) = mid;
    }
    if (high == raise_count && (!any_quantized(raise_count) || !meets_target(raise_count)))
      return formats_after(any_quantized(low) ? low : raise_count);
    return formats_after(high);
  }

 private:
  /// Returns the rung of each weight (index of its format; past the last: float) after the first `raises` raises.
  std::vector<std::size_t> rungs_after(std::size_t raises) const {
    std::vector<std::size_t> rungs = order_.start;
    for (std::size_t i = 0; i < raises; ++i) rungs[order_.raises[i].weight] = order_.raises[i].to_rung;
    return rungs;
  }

  bool any_quantized(std::size_t raises) const {
    const std::vector<std::size_t> rungs = rungs_after(raises);
    for (std::size_t w = 0; w < rungs.size(); ++w) {
      if (rungs[w] < ladders_.weights[w].formats.size()) return true;
    }
    return false;
  }

  QuantizeChoices choices_after(std::size_t raises) const {
    const std::vector<std::size_t> rungs = rungs_after(raises);
    QuantizeChoices choices;
    for (std::size_t w = 0; w < rungs.size(); ++w) {
      const WeightLadder& ladder = ladders_.weights[w];
      QuantizeChoice& choice = choices[ladder.source];
      if (rungs[w] < ladder.formats.size()) {
        choice.recipe = ladder.formats[rungs[w]].recipe;
        continue;
      }
      const auto min_noise_rung =
          std::ranges::min_element(effects_[w].rungs.begin(), effects_[w].rungs.end() - 1, {}, &Rung::noise) -
          effects_[w].rungs.begin();
      choice.reason = fmt::format("--target-sqnr {:g}: {}", target_,
                                  layer_error_text(ladder, effects_[w], static_cast<std::size_t>(min_noise_rung)));
    }
    return choices;
  }

  /// SQNR of the worst result in decibels; measured once for each number of raises.
  double sqnr(std::size_t raises) {
    const auto [cached, is_new] = sqnr_.try_emplace(raises);
    if (is_new) {
      cached->second = worst_sqnr(outputs_.measure(program_.exported(choices_after(raises))));
      on_step_(sqnr_.size(), std::max(expected_trials_, sqnr_.size()));
    }
    return cached->second;
  }
  bool meets_target(std::size_t raises) { return sqnr(raises) >= target_; }

  ChosenFormats formats_after(std::size_t raises) {
    const double result_sqnr = sqnr(raises);
    return {choices_after(raises), result_sqnr >= target_ && any_quantized(raises), result_sqnr, sqnr_.size()};
  }

  const FloatProgram& program_;
  const Ladders& ladders_;
  const OutputErrors& outputs_;
  const std::vector<WeightEffect>& effects_;
  const double target_;
  const OnStep& on_step_;
  RaisingOrder order_;
  std::size_t expected_trials_ = 0;
  std::map<std::size_t, double> sqnr_;  ///< SQNR by the number of raises
};

}  // namespace

ChosenFormats choose_formats(const FloatProgram& program, const Ladders& ladders, const OutputErrors& outputs,
                             const std::vector<WeightEffect>& effects, double target, const OnStep& on_step) {
  return Chooser(program, ladders, outputs, effects, target, on_step).run();
}

}  // namespace tern
