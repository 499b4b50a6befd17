#include "tools/quantize/float_program.h"

#include "exporter/constants.h"
#include "exporter/passes/passes.h"
#include "schema/passes/dead_code.h"
#include "tools/inputs.h"

namespace tern {
namespace {

/// A modifiable copy: other copies do not see its additions and replacements of the source.
std::shared_ptr<Program> branch_of(const Program& program) {
  auto copy = std::make_shared<Program>(program);
  copy->source =
      std::make_shared<ExtendableSource>(program.source, static_cast<std::uint32_t>(program.storages.size()));
  return copy;
}

}  // namespace

FloatProgram::FloatProgram(std::shared_ptr<const Program> program, ImportOptions options, const std::string& function)
    : program_(std::move(program)), options_(std::move(options)) {
  const Model exported_model = model();
  const std::vector<FunctionInfo>& functions = exported_model.functions();
  function_ = static_cast<std::uint32_t>(program_->find_entry(choose_function(functions, function).name));
}

std::shared_ptr<Program> FloatProgram::branch() const {
  return branch_of(*program_);
}

QuantizeReport FloatProgram::quantized_by(const std::vector<QuantizeRule>& rules,
                                          const QuantizeChoices& choices) const {
  return quantize_weights(*branch_of(*program_), rules, options_.full_precision_nodes, choices, options_.samples.get());
}

Side FloatProgram::reference() const {
  Side program_side;
  program_side.program = program_;
  program_side.function = function_;
  program_side.options.weight_cache = "off";  // most of these programs run once
  program_side.title = "floats";
  return program_side;
}

Side FloatProgram::quantized(QuantizeChoices choices) const {
  Side program_side = reference();
  program_side.title = "quantized";
  program_side.finish = [choices = std::move(choices),
                         samples = options_.samples](const std::shared_ptr<const Program>& program) {
    std::shared_ptr<Program> branch = branch_of(*program);
    remove_dead_code(*branch);  // removes weights of other results
    quantize_weights(*branch, {}, {}, choices, samples.get());
    return branch;
  };
  return program_side;
}

Side FloatProgram::exported(QuantizeChoices choices) const {
  Side program_side = reference();
  program_side.title = "exported";
  ImportOptions options = options_;
  options.quantize.clear();
  options.choices = std::move(choices);
  if (options.precision == DType::invalid) options.full_precision_nodes.clear();  // the choices override the precision
  program_side.finish = [options = std::move(options)](const std::shared_ptr<const Program>& program) {
    std::shared_ptr<Program> branch = branch_of(*program);
    store_weights(*branch, options);
    return branch;
  };
  return program_side;
}

QuantizeChoices choices_of(const QuantizeReport& report) {
  QuantizeChoices choices;
  for (const QuantizedWeight& w : report.weights) choices[w.source] = {w.recipe, {}};
  for (const UnquantizedWeight& k : report.unquantized) choices[k.name] = {{}, k.reason};
  return choices;
}

}  // namespace tern
