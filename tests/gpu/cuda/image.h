// Images of modules: PTX, and machine code whose PTX a test keeps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tern::emulator::cuda {

// The path of a shared library with the translated kernels of an image. An image is one of
// - PTX: translated (../ptx);
// - a line "// tern-emulated-library: PATH": a library that a test has compiled itself;
// - machine code (ELF): TERN_EMULATOR_CUBINS/HASH.ptx has its PTX, HASH is the FNV-1a hash of 64 bits of its bytes, as
//   16 hexadecimal digits.
// Refuses all else as a driver would.
std::string library_of(const void* image);

// The size of an ELF file that begins there, by its headers.
uint64_t elf_bytes(const void* image);
uint64_t fnv(std::string_view bytes);

}  // namespace tern::emulator::cuda
