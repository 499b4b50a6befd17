// How a custom node writes down the arguments of an operator of another library. Attribute `text` has a line
// "NAME KIND COUNT" for each argument in the order of the call, an empty line, and then the bytes of all texts without
// anything between them. Tensors are the node's inputs, integers attribute `value`, numbers attribute `hyper`, each in
// the order of the arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/program.h"

namespace tern {

struct CustomArgument {
  enum class Kind : std::uint8_t { none, tensors, integers, numbers, text };  // numbers of tern/custom_op.h
  std::string name;
  Kind kind = Kind::none;
  std::int32_t count = 0;  ///< tensors, integers, numbers, or bytes of text
  std::string text;
};

std::string format_custom_arguments(const std::vector<CustomArgument>& arguments);

/// The arguments of a custom node. Throws Error(bad_file) where the text cannot be read, or its counts are not those of
/// the node's inputs and attributes.
std::vector<CustomArgument> custom_arguments(const Node& node);

}  // namespace tern
