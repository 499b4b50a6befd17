#include "tools/quantize/calibrate.h"

#include <fmt/format.h>

#include "tools/quantize/choose.h"
#include "tools/quantize/samples.h"
#include "tools/terminal.h"

namespace tern {
namespace {

/// A bar on the terminal for one stage.
OnStep shown(Progress& progress) {
  return [&progress](std::size_t done, std::size_t total) {
    progress.set(total == 0 ? 0 : done * 100 / total);
    progress.note(fmt::format("{} of {}", done, total));
  };
}

SqnrTarget choose(const FloatProgram& program, const Ladders& ladders, const OutputErrors& outputs, const Calls& calls,
                  double target, QuantizeChoices& choices) {
  Progress alone("one weight quantized", 100);
  const std::vector<WeightEffect> effects = weight_effects(program, ladders, outputs, calls, shown(alone));
  alone.finish();
  Progress trials("choosing formats", 100);
  const OnStep on_trial = shown(trials);
  ChosenFormats chosen = choose_formats(program, ladders, outputs, effects, target, on_trial);
  choices = std::move(chosen.choices);
  return {target, chosen.sqnr, chosen.met, {}, chosen.trials};
}

std::vector<std::string> names_of(const FormatLadder& ladder) {
  std::vector<std::string> names;
  for (const quantize::Recipe& r : ladder.recipes) names.emplace_back(r.format->name);
  return names;
}

}  // namespace

Calibration calibrate(const FloatProgram& program, const std::vector<FormatLadder>& formats,
                      const QuantizeArguments& a) {
  Calibration c;
  const Calls calls = read_samples(program, a.calibrate);
  const OutputErrors outputs(program.reference(), calls);
  c.function = program.f().name;
  c.samples = calls.size();
  const Ladders ladders = ladders_of(program, formats);
  c.weights = ladders.reports.back();
  c.choices = choices_of(c.weights);
  if (ladders.weights.empty()) return c;
  if (a.target) {
    c.target = choose(program, ladders, outputs, calls, *a.target, c.choices);
    c.target->formats = names_of(formats.front());
    c.weights = program.quantized_by(rules_at(formats, 0), c.choices);
  }
  Progress layers("layers", 100);
  c.layers = layer_errors(program, c.weights, calls, shown(layers));
  layers.finish();
  c.results = outputs.measure(program.exported(c.choices));
  return c;
}

}  // namespace tern
