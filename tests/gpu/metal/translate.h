// Metal's language as C++: the text over a stand-in for Metal's library, and functions that call its kernels.
#pragma once

#include <string>

namespace tern::emulator::metal {

struct TranslateOptions {
  bool fast_math = true;  // as MTLCompileOptions has it by default
  bool flush = false;     // subnormal floats to zero
  std::string include;    // the folder of the project
  std::string fibers;     // the library of tests/gpu/fibers
};

// The path of a shared library with the kernels (tests/gpu/kernel.h). Throws std::runtime_error with the compiler's
// messages, or with what of a kernel the stand-in does not know.
std::string library_of_metal(const std::string& text, const TranslateOptions& options);

}  // namespace tern::emulator::metal
