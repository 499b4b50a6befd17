// Compiles C that translators of the emulated GPUs write.
#pragma once

#include <string>
#include <vector>

namespace tern::emulated {

enum class Language {
  c,
  cpp,
  metal,  // as C++14, which Metal's language is made of
};

struct CompileOptions {
  std::vector<std::string> includes;  // folders of headers
  std::string library;                // a shared library that the code calls, if any
  std::vector<std::string> depends;   // files that it includes: with another one it is compiled anew
  Language language = Language::c;
  std::vector<std::string> flags;  // of the compiler, after its usual ones
};

// Compiles to a shared library with the system's compiler and returns its path: gcc or what TERN_EMULATOR_CC names, g++
// or what TERN_EMULATOR_CXX names.
// Libraries are kept by the hash of all that they depend on in the folder TERN_EMULATOR_CACHE, else in a temporary
// folder of this process, which is removed at its end. Several threads and processes may do so at once. Throws
// std::runtime_error with the compiler's messages.
std::string compile_c(const std::string& c, const CompileOptions& options);

}  // namespace tern::emulated
