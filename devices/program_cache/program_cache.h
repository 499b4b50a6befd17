// Compiled programs on disk: each kernel is compiled once per driver. The folder is programs/ of TERN_CACHE (empty or
// relative: no cache), else of $XDG_CACHE_HOME/tern, else of ~/.cache/tern. Programs are native code: folders and files
// count only if no other user can write to them, and set-user-ID programs use no cache.
#pragma once

#include <string>

namespace tern {

/// Returns the cached program; empty if missing, damaged, or of another identity. `identity` contains everything
/// affecting the program: source, device, driver version, options.
std::string cached_program(const std::string& identity);

/// Stores program and identity. Ignores failures: the next process compiles again. Deletes the oldest programs above a
/// total of 256 MiB.
void store_program(const std::string& identity, const std::string& program);

}  // namespace tern
