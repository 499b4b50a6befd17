#include "tools/quantize/calibrate.h"

#include "tools/quantize/choose.h"
#include "tools/quantize/samples.h"
#include "tools/terminal.h"

namespace tern {
namespace {

/// Shows a progress bar on the terminal during its lifetime.
class CalibrationProgress {
 public:
  explicit CalibrationProgress(const char* label) : label_(label) {}
  OnStep on_step() {
    return [this](std::size_t done, std::size_t total) {
      if (!progress_) progress_.emplace(label_, total);
      progress_->set(done);
    };
  }

 private:
  const char* label_;
  std::optional<Progress> progress_;
};

SqnrTarget choose(const FloatProgram& program, const Ladders& ladders, const OutputErrors& outputs, const Calls& calls,
                  double target, QuantizeChoices& choices) {
  std::vector<WeightEffect> effects;
  {
    CalibrationProgress alone("one weight quantized");
    effects = weight_effects(program, ladders, outputs, calls, alone.on_step());
  }
  CalibrationProgress trials("formats tried");
  ChosenFormats chosen = choose_formats(program, ladders, outputs, effects, target, trials.on_step());
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
  {
    CalibrationProgress layers("layers");
    c.layers = layer_errors(program, c.weights, calls, layers.on_step());
  }
  c.results = outputs.measure(program.exported(c.choices));
  return c;
}

}  // namespace tern
