// Compiles the C output of the emulated GPUs' translators.
#pragma once

#include <string>
#include <vector>

namespace tern::emulated {

enum class Language {
  c,
  cpp,
  metal,  // C++14, the base of Metal's language
};

struct CompileOptions {
  std::vector<std::string> includes;  // folders of headers
  std::string library;                // a shared library called by the code, if any
  std::vector<std::string> depends;   // included files: changes cause a new compilation
  Language language = Language::c;
  std::vector<std::string> flags;  // compiler flags after the usual flags
};

// Compiles to a shared library with the system's compiler (gcc or TERN_EMULATOR_CC, g++ or TERN_EMULATOR_CXX) and
// returns its path. Caches libraries by the hash of all dependencies in the folder TERN_EMULATOR_CACHE, else in a
// temporary folder deleted at the end of the process. Safe for concurrent threads and processes. Throws
// std::runtime_error with the compiler's messages.
std::string compile_c(const std::string& c, const CompileOptions& options);

}  // namespace tern::emulated
