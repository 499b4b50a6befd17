// Inputs that training adds to a program's functions.
#pragma once

#include <string_view>

#include "exporter/builder.h"

namespace tern {

/// An input after those that there are. Fails (invalid_argument) where the program has one of that name.
ValueId add_training_input(Builder& b, TensorType type, std::string_view name);

}  // namespace tern
