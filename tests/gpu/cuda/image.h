// Images of modules: PTX, and machine code with cached PTX.
#pragma once

#include <string>

namespace tern::emulator::cuda {

struct Translated {
  std::string library;  // path of the library
  std::string text;     // PTX, if known
};

// A shared library with the translated kernels of an image. An image is one of
// - PTX: translated (../ptx);
// - a line "// tern-emulated-library: PATH": a library compiled by a test;
// - machine code (ELF), whose PTX is in the folder TERN_EMULATOR_CUBINS (machine_code.h; nvrtc.cpp fills the folder).
// Refuses all else like a driver. counts: with counting kernels.
Translated library_of(const void* image, bool counts);

}  // namespace tern::emulator::cuda
