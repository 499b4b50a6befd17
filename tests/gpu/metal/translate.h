// Translates Metal's language to C++: the source over a stand-in for Metal's library, and functions that call its
// kernels.
#pragma once

#include <string>

namespace tern::emulator::metal {

struct TranslateOptions {
  bool fast_math = true;  // MTLCompileOptions's default
  bool flush = false;     // subnormal floats to zero
  std::string include;    // the folder of the project
  std::string fibers;     // the library of tests/gpu/fibers
};

// The path of a shared library with the kernels (tests/gpu/kernel.h). Throws std::runtime_error with the compiler's
// messages, or with the unsupported feature.
std::string library_of_metal(const std::string& text, const TranslateOptions& options);

}  // namespace tern::emulator::metal
