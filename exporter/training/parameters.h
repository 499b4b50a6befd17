// Which parameters of a program are trained.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schema/program.h"

namespace tern {

/// A parameter, and the states that are the same tensor under other names (tied weights): their gradients add up.
struct TrainedParameter {
  std::uint32_t state = 0;
  std::vector<std::uint32_t> same;  ///< with `state`
};

/// The same elements in the same order, under two names.
bool is_same_tensor(const State& a, const State& b);
/// Some byte is an element's of both.
bool share_bytes(const Program& program, const State& a, const State& b);

/// The floating parameters that the function reads and no pattern of `freeze` matches, in the order of the states.
/// Marks them, and all states that share bytes with them, as mutable, so that no pass computes with their values at
/// export. Fails (invalid_argument) where a pattern matches no parameter, or a tied one under some of its names alone,
/// or nothing is left to train; (unsupported) where a trained parameter shares bytes with another one.
std::vector<TrainedParameter> choose_parameters(Program& program, std::uint32_t function,
                                                const std::vector<std::string>& freeze);

}  // namespace tern
