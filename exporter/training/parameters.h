// Selects the trained parameters of a program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exporter/training/parameter_rules.h"
#include "exporter/training/step_rules.h"
#include "schema/program.h"

namespace tern {

/// Parameter, and the states of the same tensor under other names (tied weights): their gradients add up.
struct TrainedParameter {
  std::uint32_t state = 0;
  std::vector<std::uint32_t> tied_states;  ///< with `state`
};

/// True for the same elements in the same order, under two names.
bool is_same_tensor(const State& a, const State& b);
/// Some byte is an element's of both.
bool share_bytes(const Program& program, const State& a, const State& b);

/// Names and axes of parameters, for parameter_rules.h.
std::vector<NamedParameter> names_of(const Program& program, const std::vector<TrainedParameter>& parameters);

/// Floating parameters read by the function, not matched by `freeze` and not frozen by a rule, in
/// state order; with `steps` those that a step trains. Marks
/// them, and all states with bytes in common, as mutable: no pass may compute with their values at export. Fails
/// (invalid_argument) if a pattern or rule matches no parameter, or a tied parameter under only some of its names, or
/// if nothing remains to train; (unsupported) if a trained parameter shares bytes with another one.
std::vector<TrainedParameter> choose_parameters(Program& program, std::uint32_t function,
                                                const std::vector<std::string>& freeze,
                                                const std::vector<ParameterRule>& rules = {},
                                                const std::vector<StepRule>& steps = {});

}  // namespace tern
