// Whether two names are of one file, so that an output does not replace what it is made of.
#pragma once

#include <string>

namespace tern {

/// Of regular files, those that exist or not: devices and pipes can take several outputs.
bool is_same_file(const std::string& a, const std::string& b);

}  // namespace tern
