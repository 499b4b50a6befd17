// Translates PTX to a shared library of kernels.
#pragma once

#include <string>

namespace tern::emulator::cuda {

// Refuses untranslatable PTX with Status::invalid_text and the translator's message. counts: with counting kernels
// (../counts.h).
std::string library_of_ptx(const std::string& ptx, bool counts);

}  // namespace tern::emulator::cuda
