// States that training adds to a program.
#pragma once

#include <cstdint>
#include <string>

#include "schema/program.h"

namespace tern {

/// A mutable state, row by row, with this value in each element. Returns its number.
std::uint32_t add_training_state(Program& program, std::string name, const TensorType& type, double initial);

}  // namespace tern
