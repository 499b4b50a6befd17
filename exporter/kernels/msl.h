// Metal's language in archives. The device's system compiles it: the archive holds the source.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tern {

/// The bytes of the text.
std::vector<std::byte> compile_msl(const std::string& name, const std::string& text);

/// Origin of the modules, for messages.
std::string msl_compiler();

}  // namespace tern
