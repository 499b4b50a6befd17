// Order of names with numbers: call2 before call10.
#pragma once

#include <string>

namespace tern {

/// True if `a` comes before `b` in the order of glibc's strverscmp: runs of digits compare as numbers, or as fractions
/// if they begin with a zero.
bool is_numbered_before(const std::string& a, const std::string& b);

}  // namespace tern
