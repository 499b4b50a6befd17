// Text of a file's as it may stand in a message.
#pragma once

#include <string>
#include <string_view>

namespace tern {

/// The text with control characters (line breaks and escapes of terminals among them), characters that hide or reorder
/// text, and bytes that are not UTF-8 written as \xNN. Everything else stays as it is.
std::string printable(std::string_view text);

/// The same for a message: a line break that two spaces follow begins another line of it, and stays. A name of a file
/// cannot forge the beginning of a line.
std::string printable_lines(std::string_view text);

/// The text of others, such as a compiler's log, as it may end a message: its further lines are indented.
std::string indented(std::string_view text);

}  // namespace tern
