#include "platform/machine.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace tern::platform {

bool allow_matrix_tiles() {
#if defined(__x86_64__)
  // Intel's manual, volume 1, chapter 18 describes the state components of XCR0.
  constexpr unsigned kTileConfigAndData = 0b11u << 17;
  constexpr long kRequestPermission = 0x1023, kTileDataComponent = 18;  // ARCH_REQ_XCOMP_PERM
  unsigned low = 0, high = 0;
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & kTileConfigAndData) == kTileConfigAndData &&
         ::syscall(SYS_arch_prctl, kRequestPermission, kTileDataComponent) == 0;
#else
  return false;
#endif
}

#if defined(__aarch64__)
bool has_extension(std::string_view name) {
  // Linux documents the bits in Documentation/arch/arm64/elf_hwcaps.rst.
  const auto has = [](unsigned long vector, unsigned bit) { return (::getauxval(vector) >> bit & 1) != 0; };
  if (name == "asimddp") return has(AT_HWCAP, 20);
  if (name == "i8mm") return has(AT_HWCAP2, 13);
  if (name == "bf16") return has(AT_HWCAP2, 14);
  return false;
}
#endif

std::int64_t last_cache_bytes() {
#ifdef _SC_LEVEL3_CACHE_SIZE
  return std::max(0L, ::sysconf(_SC_LEVEL3_CACHE_SIZE));
#else
  return 0;  // musl
#endif
}

std::int64_t memory_bytes() {
  return std::int64_t{std::max(0L, ::sysconf(_SC_PHYS_PAGES))} * std::max(0L, ::sysconf(_SC_PAGESIZE));
}

std::int64_t private_bytes() {
  constexpr std::int64_t kKibibyte = 1024;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stoll(line.substr(8)) * kKibibyte;
  }
  return 0;
}

}  // namespace tern::platform
