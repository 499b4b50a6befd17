#include "tools/quantize/calibrate.h"

#include <algorithm>

#include "exporter/passes/quantize/absorbed_scales.h"
#include "tools/quantize/budget.h"
#include "tools/quantize/choose.h"
#include "tools/quantize/input_moments.h"
#include "tools/quantize/samples.h"
#include "tools/terminal.h"

namespace tern {
namespace {

/// Shows a progress bar on the terminal during its lifetime.
class CalibrationProgress {
 public:
  explicit CalibrationProgress(const char* label) : label_(label) {}
  OnStep step_callback() {
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
    effects = weight_effects(program, ladders, outputs, calls, effects_stage.step_callback());
  }
  CalibrationProgress trials_stage("formats tried");
  ChosenFormats formats = choose_formats(program, ladders, outputs, effects, target, trials_stage.step_callback());
  choices = std::move(formats.choices);
  return {target, formats.sqnr, formats.met, {}, formats.trials};
}

bool uses_importance(const std::vector<FormatLadder>& formats) {
  return std::ranges::any_of(formats, [](const FormatLadder& l) {
    return std::ranges::any_of(l.recipes,
                               [](const quantize::Recipe& r) { return r.rule != quantize::ScaleRule::torchao; });
  });
}

void scale_columns(const FloatProgram& program, const std::vector<FormatLadder>& formats,
                   std::map<WeightPart, std::vector<float>>& importance) {
  const QuantizeChoices choices = choices_of(program.quantized_by(rules_at(formats, 0)));
  const auto recipe_of = [&](const std::string& weight) -> const quantize::Recipe* {
    const auto found = choices.find(weight);
    return found == choices.end() || found->second.recipe.format == nullptr ? nullptr : &found->second.recipe;
  };
  absorb_scales(program.program(), recipe_of, importance);
}

bool feeds_back(const QuantizeReport& report) {
  return std::ranges::any_of(report.weights,
                             [](const QuantizedWeight& w) { return w.recipe.rule == quantize::ScaleRule::gptq; });
}

/// Runs of samples for the effects of single weights: large programs are measured on fewer samples.
constexpr std::size_t kMaxEffectRuns = 256;

/// Chooses formats that take at most `bits` bits for each number, and stores them in `choices`.
BitBudget choose_for_bits(const FloatProgram& program, const Ladders& ladders, const Calls& calls, double bits,
                          QuantizeChoices& choices) {
  const std::size_t count = std::clamp<std::size_t>(kMaxEffectRuns / ladders.weights.size(), 1, calls.size());
  const Calls first_calls(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(count));
  const OutputErrors outputs(program.reference(), first_calls);
  CalibrationProgress stage("one weight quantized");
  BudgetFormats found =
      formats_within(ladders, weight_effects(program, ladders, outputs, first_calls, stage.step_callback()), bits);
  choices = std::move(found.choices);
  return {bits, found.bits, {}};
}

std::vector<std::string> ladder_format_names(const FormatLadder& ladder) {
  std::vector<std::string> names;
  for (const quantize::Recipe& r : ladder.recipes) {
    if (names.empty() || names.back() != r.format->name) names.emplace_back(r.format->name);
  }
  return names;
}

}  // namespace

Calibration calibrate(FloatProgram program, const std::vector<FormatLadder>& formats,
                      const QuantizeArguments& arguments) {
  Calibration calibration;
  const Calls calls = read_samples(program, arguments.calibrate);
  auto data = std::make_shared<SampleData>();
  if (uses_importance(formats)) data->importance = measure_importance(program, calls);
  if (arguments.awq) scale_columns(program, formats, data->importance);
  program.set_samples(data);
  calibration.sample_data = data;
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
  if (arguments.bits) {
    calibration.budget = choose_for_bits(program, ladders, calls, *arguments.bits, calibration.choices);
    calibration.budget->formats = ladder_format_names(formats.front());
    calibration.weights = program.quantized_by(rules_at(formats, 0), calibration.choices);
  }
  if (feeds_back(calibration.weights)) {
    CalibrationProgress feedback_stage("error feedback");
    data->encoded = encode_with_feedback(program, calibration.choices, calls, feedback_stage.step_callback());
    calibration.weights = program.quantized_by(rules_at(formats, 0), calibration.choices);
  }
  {
    CalibrationProgress layers_stage("layers");
    calibration.layers = layer_errors(program, calibration.weights, calls, layers_stage.step_callback());
  }
  calibration.results = outputs.measure(program.exported(calibration.choices));
  if (calibration.target && feeds_back(calibration.weights)) {
    calibration.target->reached = worst_sqnr(calibration.results);
    calibration.target->met = calibration.target->met && calibration.target->reached >= calibration.target->requested;
  }
  return calibration;
}

}  // namespace tern
