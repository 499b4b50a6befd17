// Machine code, which is not executed: a text is kept for each, and stands for it.
#pragma once

#include <cstdint>
#include <string>

namespace tern::emulator::cuda {

// The size of an ELF file that begins there, by its headers.
uint64_t elf_bytes(const void* image);

// The name of the file with its PTX: the FNV-1a hash of 64 bits of its bytes, as 16 hexadecimal digits, and ".ptx".
std::string text_name(const void* image);

}  // namespace tern::emulator::cuda
