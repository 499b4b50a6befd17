// Images of modules: PTX, and machine code whose PTX a test keeps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tern::emulator::cuda {

struct Translated {
  std::string library;  // its path
  std::string text;     // PTX, where that is known
};

// A shared library with the translated kernels of an image. An image is one of
// - PTX: translated (../ptx);
// - a line "// tern-emulated-library: PATH": a library that a test has compiled itself;
// - machine code (ELF): TERN_EMULATOR_CUBINS/HASH.ptx has its PTX, HASH is the FNV-1a hash of 64 bits of its bytes, as
//   16 hexadecimal digits.
// Refuses all else as a driver would. counts: of kernels that count.
Translated library_of(const void* image, bool counts);

// The size of an ELF file that begins there, by its headers.
uint64_t elf_bytes(const void* image);
uint64_t fnv(std::string_view bytes);

}  // namespace tern::emulator::cuda
