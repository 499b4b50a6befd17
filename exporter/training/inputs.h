// Inputs added to a program's functions by training.
#pragma once

#include <string_view>

#include "exporter/builder.h"

namespace tern {

/// Appends an input. Fails (invalid_argument) if the program has an input of the same name.
ValueId add_training_input(Builder& b, TensorType type, std::string_view name);

}  // namespace tern
