// Compiles C that translators of the emulated GPUs write.
#pragma once

#include <string>

namespace tern::emulated {

struct CompileOptions {
  std::string include;  // a folder of headers
  std::string library;  // a shared library that the code calls
};

// Compiles C to a shared library with the system's compiler, gcc or what TERN_EMULATOR_CC names, and returns its path.
// Libraries are kept by the hash of all that they depend on in the folder TERN_EMULATOR_CACHE, else in a temporary
// folder of this process, which is removed at its end. Several threads and processes may do so at once. Throws
// std::runtime_error with the compiler's messages.
std::string compile_c(const std::string& c, const CompileOptions& options);

}  // namespace tern::emulated
