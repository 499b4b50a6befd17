#include "tools/quantize/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

namespace tern {
namespace {

std::string own_text(const WeightLadder& ladder, const WeightEffect& effect, std::size_t format) {
  const std::string_view name = ladder.formats[format].recipe.format->name;
  if (effect.own.empty()) return fmt::format("{} changes the results too much", name);
  return fmt::format("in {} its layer has {:.1f} dB", name, -10 * std::log10(effect.own[format]));
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
    const std::size_t all = order_.raises.size();
    total_ = 2 + static_cast<std::size_t>(std::bit_width(all));
    if (enough(0)) return chosen(0);
    // Bisection between `low` (not known to be enough) and `high` (enough: floats are, unless rounded elsewhere).
    std::size_t low = 0, high = all;
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      (enough(middle) ? high : low) = middle;
    }
    if (high == all && (!any_quantized(all) || !enough(all))) return chosen(any_quantized(low) ? low : all);
    return chosen(high);
  }

 private:
  /// The rung of each weight after this number of raises.
  std::vector<std::size_t> rungs_after(std::size_t raises) const {
    std::vector<std::size_t> rungs = order_.start;
    for (std::size_t i = 0; i < raises; ++i) rungs[order_.raises[i].weight] = order_.raises[i].to;
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
      const auto least =
          std::ranges::min_element(effects_[w].rungs.begin(), effects_[w].rungs.end() - 1, {}, &Rung::noise) -
          effects_[w].rungs.begin();
      choice.reason = fmt::format("--target-sqnr {:g}: {}", target_,
                                  own_text(ladder, effects_[w], static_cast<std::size_t>(least)));
    }
    return choices;
  }

  double sqnr(std::size_t raises) {
    const auto [at, fresh] = sqnr_.try_emplace(raises);
    if (fresh) {
      at->second = worst_sqnr(outputs_.measure(program_.exported(choices_after(raises))));
      on_step_(sqnr_.size(), std::max(total_, sqnr_.size()));
    }
    return at->second;
  }
  bool enough(std::size_t raises) { return sqnr(raises) >= target_; }

  ChosenFormats chosen(std::size_t raises) {
    const double reached = sqnr(raises);
    return {choices_after(raises), reached >= target_ && any_quantized(raises), reached, sqnr_.size()};
  }

  const FloatProgram& program_;
  const Ladders& ladders_;
  const OutputErrors& outputs_;
  const std::vector<WeightEffect>& effects_;
  const double target_;
  const OnStep& on_step_;
  RaisingOrder order_;
  std::size_t total_ = 0;
  std::map<std::size_t, double> sqnr_;  ///< SQNR by the number of raises
};

}  // namespace

ChosenFormats choose_formats(const FloatProgram& program, const Ladders& ladders, const OutputErrors& outputs,
                             const std::vector<WeightEffect>& effects, double target, const OnStep& on_step) {
  return Chooser(program, ladders, outputs, effects, target, on_step).run();
}

}  // namespace tern
