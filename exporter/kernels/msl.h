// Metal's language in archives. The system of the device compiles it, so the archive has the texts themselves.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tern {

/// The bytes of the text.
std::vector<std::byte> compile_msl(const std::string& name, const std::string& text);

/// What made them, for people.
std::string msl_compiler();

}  // namespace tern
