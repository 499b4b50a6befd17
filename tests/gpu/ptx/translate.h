// Translates NVRTC's PTX to C for the host.
#pragma once

#include <string>
#include <string_view>

namespace tern::emulated {

// C of a whole PTX module, for compile_ptx_c(). Anything unknown throws TranslationError (error.h), which names the
// line and the instruction: the translation never guesses.
//
// Counting kernels (../counts.h) count if a launch requests counting; other kernels have no counting code.
enum class Counts : bool { off, on };
std::string to_c(std::string_view ptx, Counts counts = Counts::off);

// Compiles the C of to_c() to a shared library with the export tern_emulated_kernels (../kernel.h); returns its path.
std::string compile_ptx_c(const std::string& c);

}  // namespace tern::emulated
