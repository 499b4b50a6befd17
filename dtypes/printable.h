// Text from files, made safe for messages.
#pragma once

#include <string>
#include <string_view>

namespace tern {

/// The text with control characters (including line breaks and escapes of terminals), characters hiding or reordering
/// text, and invalid UTF-8 written as \xNN. All other characters stay unchanged.
std::string printable(std::string_view text);

/// The same for a message: keeps a line break followed by two spaces as a continuation of the message. A name from a
/// file cannot forge the beginning of a line.
std::string printable_lines(std::string_view text);

/// Foreign text, for example a compiler's log, formatted for the end of a message: further lines are indented.
std::string indented(std::string_view text);

}  // namespace tern
