// States added to a program by training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "exporter/builder.h"

namespace tern {

/// Adds a mutable row-major state with this value in each element. Returns its number.
std::uint32_t add_training_state(Program& program, std::string name, const TensorType& type, double initial);
/// Adds a state with these bytes, row by row.
std::uint32_t add_training_state(Program& program, std::string name, const TensorType& type,
                                 std::vector<std::byte> bytes);

/// Number of the state with this name, or -1.
int find_state(const Program& program, const std::string& name);

/// Values of a state in row-major order, in `dtype`.
std::vector<std::byte> values_of_state(const Program& program, const State& state, DType dtype);

/// The states of an optimizer begin with this: "optimizer.", or "optimizer.STEP." of a named step.
std::string optimizer_prefix(const std::string& step);

/// The function's new value of a state.
void write_state(Builder& b, std::uint32_t state, ValueId value);

}  // namespace tern
