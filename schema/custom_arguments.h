// Encoding of the arguments of another library's operator in a custom node. Attribute `text` has a line "NAME KIND
// COUNT" per argument in call order, an empty line, then the concatenated bytes of all texts. Tensors are the node's
// inputs, integers attribute `value`, numbers attribute `hyper`, each in argument order.
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
  std::int32_t count = 0;  ///< number of tensors, integers, numbers, or bytes of text
  std::string text;
};

std::string format_custom_arguments(const std::vector<CustomArgument>& arguments);

/// Decodes the arguments of a custom node. Throws Error(bad_file) if the text is malformed, or its counts differ from
/// the node's inputs and attributes.
std::vector<CustomArgument> custom_arguments(const Node& node);

}  // namespace tern
