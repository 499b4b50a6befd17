// Text of a file's as it may stand in a message.
#pragma once

#include <string>
#include <string_view>

namespace tern {

/// The text with control characters (line breaks and escapes of terminals among them), characters that hide or reorder
/// text, and bytes that are not UTF-8 written as \xNN. Everything else stays as it is.
std::string printable(std::string_view text);

}  // namespace tern
