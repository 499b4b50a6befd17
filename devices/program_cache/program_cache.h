// Compiled programs on disk, so that a kernel is compiled once for each driver: in programs/ of TERN_CACHE (empty or
// relative: no cache), else of $XDG_CACHE_HOME/tern, else of ~/.cache/tern. They are native code: only a folder and
// files count that nobody but this process's user can write to, and set-user-ID programs have none.
#pragma once

#include <string>

namespace tern {

/// `identity` is everything that decides what the program is: the text, the device, the driver's version, the options.
/// Empty where there is none, or what is there is of something else or damaged.
std::string cached_program(const std::string& identity);

/// Keeps the program. Failures are no matter: then it is compiled again next time. The oldest programs go when all
/// together are larger than 256 MiB.
void keep_program(const std::string& identity, const std::string& program);

}  // namespace tern
