// Named steps of a program with several losses, such as a GAN or actor and critic: each trains its parameters on its
// loss with an optimizer of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exporter/training/parameter_rules.h"
#include "schema/program.h"

namespace tern {

struct StepRule {
  std::string name;          ///< names the method
  std::string loss;          ///< name or number of the program's result
  std::string trains = "*";  ///< selector of parameters, as in ParameterRule
  std::string freeze;        ///< selector of parameters that this step leaves alone; empty: none
  std::uint64_t every = 1;   ///< `tern train` takes the step with every so manieth batch
  ParameterRule rule;        ///< optimizer, rate and settings of all its parameters
};

/// Reads "NAME: loss=RESULT, trains=SELECTOR, freeze=SELECTOR, every=N, SETTING ..."; settings as in
/// parse_parameter_rule. Fails (invalid_argument) for other text.
StepRule parse_step_rule(const std::string& text);
/// Fails (invalid_argument) for two steps of one name, if the first step leaves out batches, and with `accumulate` if a
/// step has the name of another step's accumulate or apply method.
void check_steps(const std::vector<StepRule>& steps, bool accumulate);

/// Names of a program's named steps; empty for a program with train_step.
std::vector<std::string> step_names(const Program& program);

/// True if the step trains the parameter under one of its names.
bool trains(const StepRule& step, const NamedParameter& parameter);

}  // namespace tern
