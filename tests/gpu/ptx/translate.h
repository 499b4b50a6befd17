// Translates PTX, as NVRTC writes it, to C that runs on the host.
#pragma once

#include <string>
#include <string_view>

namespace tern::emulated {

// C of a whole PTX module, for compile_ptx_c(). Throws TranslationError (error.h), with the line and the instruction,
// for anything that it does not know: it never guesses.
//
// Kernels that count (../counts.h) do so where a launch asks for it; the others have no code for it.
enum class Counts : bool { off, on };
std::string to_c(std::string_view ptx, Counts counts = Counts::off);

// Compiles the C of to_c() to a shared library that exports tern_emulated_kernels (../kernel.h); returns its path.
std::string compile_ptx_c(const std::string& c);

}  // namespace tern::emulated
