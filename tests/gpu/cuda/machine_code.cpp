#include "tests/gpu/cuda/machine_code.h"

#include <elf.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace tern::emulator::cuda {

uint64_t elf_bytes(const void* image) {
  const auto* bytes = static_cast<const char*>(image);
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  uint64_t end = std::max({uint64_t{sizeof(header)}, header.e_shoff + uint64_t{header.e_shnum} * header.e_shentsize,
                           header.e_phoff + uint64_t{header.e_phnum} * header.e_phentsize});
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes + header.e_shoff + uint64_t{header.e_shentsize} * i, sizeof(section));
    if (section.sh_type != SHT_NOBITS) end = std::max(end, section.sh_offset + section.sh_size);
  }
  return end;
}

std::string text_name(const void* image) {
  const auto* bytes = static_cast<const unsigned char*>(image);
  uint64_t hash = 0xcbf29ce484222325;
  for (uint64_t i = 0, end = elf_bytes(image); i < end; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  char name[32];
  std::snprintf(name, sizeof(name), "%016llx.ptx", static_cast<unsigned long long>(hash));
  return name;
}

}  // namespace tern::emulator::cuda
