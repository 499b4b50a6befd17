// The exported float program, and its runs with weights in chosen formats.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exporter/importer.h"
#include "tools/verify/side.h"

namespace tern {

class FloatProgram {
 public:
  /// `program` was imported without storing its weights; `options` describe the later storage. An empty `function` is
  /// the only function, or "forward".
  FloatProgram(std::shared_ptr<const Program> program, ImportOptions options, const std::string& function);

  const Program& program() const { return *program_; }
  Model model() const { return Model(program_); }
  std::uint32_t function() const { return function_; }
  const Function& f() const { return program_->functions[function_]; }

  /// Facts from example inputs, which quantizing uses from now on.
  void set_samples(std::shared_ptr<const SampleData> samples) { options_.samples = std::move(samples); }
  std::shared_ptr<const SampleData> samples() const { return options_.samples; }

  /// A modifiable copy of the program.
  std::shared_ptr<Program> branch() const;

  /// Report of the weights under `rules` and `choices`. The program stays unchanged.
  QuantizeReport quantized_by(const std::vector<QuantizeRule>& rules, const QuantizeChoices& choices = {}) const;

  Side reference() const;
  /// The same nodes with these weights quantized, otherwise unchanged; also applies to derived programs.
  Side quantized(QuantizeChoices choices) const;
  /// The final program of the archive: with `options.precision`, and weights in their final layout.
  Side exported(QuantizeChoices choices) const;

 private:
  std::shared_ptr<const Program> program_;
  ImportOptions options_;
  std::uint32_t function_ = 0;
};

/// The choices made for the weights of a report.
QuantizeChoices choices_of(const QuantizeReport& report);

}  // namespace tern
