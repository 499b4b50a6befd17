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
    const bool some = l.isolated.has_value();
    known[l.weight_source] = known.try_emplace(l.weight_source, true).first->second && some;
    if (some)
      noise[l.weight_source] +=
          static_cast<double>(l.isolated->reference > 0 ? l.isolated->error / l.isolated->reference : 0);
  }
  std::erase_if(noise, [&](const auto& n) { return !known.at(n.first); });
  return noise;
}

/// `fewest` is the measured rung, with noise `noise`.
std::vector<Rung> rungs_of(const WeightLadder& ladder, const std::vector<double>& own, std::size_t fewest,
                           double noise) {
  std::vector<Rung> rungs;
  for (std::size_t i = 0; i < ladder.formats.size(); ++i) {
    const double here = own.empty() ? ladder.formats[i].noise : own[i];
    const double there = own.empty() ? ladder.formats[fewest].noise : own[fewest];
    rungs.push_back({ladder.formats[i].bytes, std::min(kMaxNoise, there > 0 ? noise * (here / there) : noise)});
  }
  rungs.push_back({ladder.floats, 0});
  return rungs;
}

}  // namespace

std::vector<WeightEffect> weight_effects(const FloatProgram& program, const Ladders& ladders,
                                         const OutputErrors& outputs, const Calls& calls, const OnStep& on_step) {
  const std::size_t total = ladders.reports.size() + ladders.weights.size();
  std::size_t done = 0;
  std::vector<std::vector<double>> own(ladders.weights.size());
  for (std::size_t w = 0; w < own.size(); ++w) own[w].assign(ladders.weights[w].formats.size(), -1);
  for (const QuantizeReport& report : ladders.reports) {
    const std::map<std::string, double> noise = own_noise(layer_errors(program, report, calls, {}));
    const QuantizeChoices choices = choices_of(report);
    for (std::size_t w = 0; w < own.size(); ++w) {
      const auto found = noise.find(ladders.weights[w].source);
      const auto chosen = choices.find(ladders.weights[w].source);
      if (found == noise.end() || chosen == choices.end()) continue;
      const int number = format_number(ladders.weights[w], chosen->second.recipe);
      if (number >= 0) own[w][static_cast<std::size_t>(number)] = found->second;
    }
    on_step(++done, total);
  }
  std::vector<WeightEffect> effects;
  for (std::size_t w = 0; w < own.size(); ++w) {
    const WeightLadder& ladder = ladders.weights[w];
    if (std::ranges::any_of(own[w], [](double n) { return n < 0; })) own[w].clear();
    const std::size_t fewest = min_bytes(ladder);
    const double noise =
        worst_noise(outputs.measure(program.quantized({{ladder.source, {ladder.formats[fewest].recipe, {}}}})));
    effects.push_back(
        {rungs_of(ladder, own[w], fewest, std::min(noise, kMaxNoise)), own[w], noise > 0 || !own[w].empty()});
    on_step(++done, total);
  }
  return effects;
}

}  // namespace tern
