#include "exporter/training/inputs.h"

#include <fmt/format.h>
#include <tern/error.h>

namespace tern {

ValueId add_training_input(Builder& b, TensorType type, std::string_view name) {
  for (const FunctionInput& input : b.function().inputs) {
    if (input.kind == FunctionInput::Kind::user && input.name == name)
      fail(ErrorCode::invalid_argument,
           fmt::format("--train: the program has an input '{0}', but training adds an input of that name; rename the "
                       "argument, or compute the loss in the program and give --loss none",
                       name));
  }
  const ValueId v = b.add_value(std::move(type), std::string(name));
  b.function().inputs.push_back({FunctionInput::Kind::user, v, 0, std::string(name), {}});
  return v;
}

}  // namespace tern
