#include "tools/quantize/effects.h"

#include <algorithm>
#include <map>

namespace tern {
namespace {

constexpr double kMaxNoise = 1e30;  // replaces infinity, to keep differences finite

std::size_t min_bytes(const WeightLadder& ladder) {
  return static_cast<std::size_t>(std::ranges::min_element(ladder.formats, {}, &WeightFormat::bytes) -
                                  ladder.formats.begin());
}

/// Own noise of the layers of each weight when all weights have the formats of a report.
std::map<std::string, double> own_noise(const std::vector<LayerError>& layers) {
  std::map<std::string, double> noise;
  std::map<std::string, bool> known;
  for (const LayerError& l : layers) {
    const bool is_measured = l.isolated.has_value();
    known[l.weight_source] = known.try_emplace(l.weight_source, true).first->second && is_measured;
    if (is_measured)
      noise[l.weight_source] +=
          static_cast<double>(l.isolated->reference > 0 ? l.isolated->error / l.isolated->reference : 0);
  }
  std::erase_if(noise, [&](const auto& n) { return !known.at(n.first); });
  return noise;
}

/// `fewest` is the measured rung, with noise `noise`.
std::vector<Rung> rungs_of(const WeightLadder& ladder, const std::vector<double>& weight_noise, std::size_t fewest,
                           double noise) {
  std::vector<Rung> rungs;
  for (std::size_t i = 0; i < ladder.formats.size(); ++i) {
    const double rung_noise = weight_noise.empty() ? ladder.formats[i].noise : weight_noise[i];
    const double reference_noise = weight_noise.empty() ? ladder.formats[fewest].noise : weight_noise[fewest];
    rungs.push_back({ladder.formats[i].bytes,
                     std::min(kMaxNoise, reference_noise > 0 ? noise * (rung_noise / reference_noise) : noise)});
  }
  rungs.push_back({ladder.floats, 0});
  return rungs;
}

}  // namespace

std::vector<WeightEffect> weight_effects(const FloatProgram& program, const Ladders& ladders,
                                         const OutputErrors& outputs, const Calls& calls, const OnStep& on_step) {
  const std::size_t total = ladders.reports.size() + ladders.weights.size();
  std::size_t completed_steps = 0;
  std::vector<std::vector<double>> weight_noise(ladders.weights.size());
  for (std::size_t w = 0; w < weight_noise.size(); ++w) weight_noise[w].assign(ladders.weights[w].formats.size(), -1);
  for (const QuantizeReport& report : ladders.reports) {
    const std::map<std::string, double> noise = own_noise(layer_errors(program, report, calls, {}));
    const QuantizeChoices choices = choices_of(report);
    for (std::size_t w = 0; w < weight_noise.size(); ++w) {
      const auto found = noise.find(ladders.weights[w].source);
      const auto chosen = choices.find(ladders.weights[w].source);
      if (found == noise.end() || chosen == choices.end()) continue;
      const int number = format_number(ladders.weights[w], chosen->second.recipe);
      if (number >= 0) weight_noise[w][static_cast<std::size_t>(number)] = found->second;
    }
    on_step(++completed_steps, total);
  }
  std::vector<WeightEffect> effects;
  for (std::size_t w = 0; w < weight_noise.size(); ++w) {
    const WeightLadder& ladder = ladders.weights[w];
    if (std::ranges::any_of(weight_noise[w], [](double n) { return n < 0; })) weight_noise[w].clear();
    const std::size_t fewest = min_bytes(ladder);
    const double noise =
        worst_noise(outputs.measure(program.quantized({{ladder.source, {ladder.formats[fewest].recipe, {}}}})));
    effects.push_back({rungs_of(ladder, weight_noise[w], fewest, std::min(noise, kMaxNoise)), weight_noise[w],
                       noise > 0 || !weight_noise[w].empty()});
    on_step(++completed_steps, total);
  }
  return effects;
}

}  // namespace tern
