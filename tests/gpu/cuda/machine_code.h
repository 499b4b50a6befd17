// Machine code is not executed: cached PTX stands for each binary.
#pragma once

#include <cstdint>
#include <string>

namespace tern::emulator::cuda {

// The size of the ELF file at `image`, from its headers.
uint64_t elf_bytes(const void* image);

// The file name of the binary's PTX: the 64-bit FNV-1a hash of its bytes in 16 hexadecimal digits, and ".ptx".
std::string text_name(const void* image);

}  // namespace tern::emulator::cuda
