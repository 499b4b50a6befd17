// The program of floats that is exported, and runs of what it becomes with weights in chosen formats.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exporter/importer.h"
#include "tools/verify/side.h"

namespace tern {

class FloatProgram {
 public:
  /// `program` was imported without storing its weights; `options` say how they will be stored. An empty `function` is
  /// the only one, or "forward".
  FloatProgram(std::shared_ptr<const Program> program, ImportOptions options, const std::string& function);

  const Program& program() const { return *program_; }
  Model model() const { return Model(program_); }
  std::uint32_t function() const { return function_; }
  const Function& f() const { return program_->functions[function_]; }

  /// What `rules` and `choices` make of the weights. The program stays as it is.
  QuantizeReport quantized_by(const std::vector<QuantizeRule>& rules, const QuantizeChoices& choices = {}) const;

  Side reference() const;
  /// Of the same nodes, with these weights quantized and nothing else changed. Holds for programs made of it, too.
  Side quantized(QuantizeChoices choices) const;
  /// As the archive will hold it: with `options.precision`, and weights in their final layout.
  Side exported(QuantizeChoices choices) const;

 private:
  std::shared_ptr<const Program> program_;
  ImportOptions options_;
  std::uint32_t function_ = 0;
};

/// What the weights of a report got.
QuantizeChoices choices_of(const QuantizeReport& report);

}  // namespace tern
