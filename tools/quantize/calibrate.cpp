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
    return [this](std::size_t completed, std::size_t total) {
      if (!progress_) progress_.emplace(label_, total);
      progress_->set(completed);
    };
  }

 private:
  const char* label_;
  std::optional<Progress> progress_;
};

/// Chooses formats that meet `target` (dB), stores them in `choices`, and returns the SQNR reached.
SqnrTarget choose_for_target(const FloatProgram& program, const Ladders& ladders, const OutputErrors& outputs,
                             const Calls& calls, double target, QuantizeChoices& choices) {
  std::vector<WeightEffect> effects;
  {
    CalibrationProgress effects_stage("one weight quantized");
    effects = weight_effects(program, ladders, outputs, calls, effects_stage.on_step());
  }
  CalibrationProgress trials_stage("formats tried");
  ChosenFormats formats = choose_formats(program, ladders, outputs, effects, target, trials_stage.on_step());
  choices = std::move(formats.choices);
  return {target, formats.sqnr, formats.met, {}, formats.trials};
}

std::vector<std::string> ladder_format_names(const FormatLadder& ladder) {
  std::vector<std::string> names;
  for (const quantize::Recipe& r : ladder.recipes) names.emplace_back(r.format->name);
  return names;
}

}  // namespace

Calibration calibrate(const FloatProgram& program, const std::vector<FormatLadder>& formats,
                      const QuantizeArguments& arguments) {
  Calibration calibration;
  const Calls calls = read_samples(program, arguments.calibrate);
  const OutputErrors outputs(program.reference(), calls);
  calibration.function = program.f().name;
  calibration.samples = calls.size();
  const Ladders ladders = ladders_of(program, formats);
  calibration.weights = ladders.reports.back();
  calibration.choices = choices_of(calibration.weights);
  if (ladders.weights.empty()) return calibration;
  if (arguments.target) {
    calibration.target = choose_for_target(program, ladders, outputs, calls, *arguments.target, calibration.choices);
    calibration.target->formats = ladder_format_names(formats.front());
    calibration.weights = program.quantized_by(rules_at(formats, 0), calibration.choices);
  }
  {
    CalibrationProgress layers_stage("layers");
    calibration.layers = layer_errors(program, calibration.weights, calls, layers_stage.on_step());
  }
  calibration.results = outputs.measure(program.exported(calibration.choices));
  return calibration;
}

}  // namespace tern
