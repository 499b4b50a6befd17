// Images of modules: PTX, and machine code whose PTX a test keeps.
#pragma once

#include <string>

namespace tern::emulator::cuda {

struct Translated {
  std::string library;  // its path
  std::string text;     // PTX, where that is known
};

// A shared library with the translated kernels of an image. An image is one of
// - PTX: translated (../ptx);
// - a line "// tern-emulated-library: PATH": a library that a test has compiled itself;
// - machine code (ELF), whose PTX is in the folder TERN_EMULATOR_CUBINS (machine_code.h; nvrtc.cpp fills the folder).
// Refuses all else as a driver would. counts: of kernels that count.
Translated library_of(const void* image, bool counts);

}  // namespace tern::emulator::cuda
