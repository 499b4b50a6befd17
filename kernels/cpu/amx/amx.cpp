#include "kernels/cpu/amx/amx.h"

#include <bit>
#include <cstring>

#include "dtypes/cpu_level.h"

#if TERN_X86_LEVELS && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#endif

namespace tern::amx {

#if TERN_X86_LEVELS && defined(__linux__)
namespace {

// Intel's manual, volume 1, chapter 18: CPUID leaf 7, and the state components of XCR0.
constexpr unsigned kBf16Tiles = 1u << 22, kTiles = 1u << 24;          // edx of subleaf 0
constexpr unsigned kAvx512Bf16 = 1u << 5;                             // eax of subleaf 1
constexpr unsigned kTileConfigAndData = 0b11u << 17;                  // of XCR0
constexpr long kRequestPermission = 0x1023, kTileDataComponent = 18;  // Linux: ARCH_REQ_XCOMP_PERM

bool find() {
  const char* setting = std::getenv("TERN_AMX");
  if (setting != nullptr && std::strcmp(setting, "0") == 0) return false;
  if (cpu_level() != CpuLevel::avx512) return false;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kBf16Tiles) == 0 || (d & kTiles) == 0) return false;
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) == 0 || (a & kAvx512Bf16) == 0) return false;
  unsigned low = 0, high = 0;
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & kTileConfigAndData) != kTileConfigAndData) return false;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileDataComponent) == 0;
}

}  // namespace

bool available() {
  static const bool found = find();
  return found;
}
#else
bool available() {
  return false;
}
#endif

float rounded_element(const std::byte* rounded, std::int64_t k, std::int64_t row, std::int64_t element) {
  const std::int64_t tile = (row / kBlock * steps_of(k) + element / kStep) * 2 + row % kBlock / kTile,
                     pair = element % kTile, half = element % kStep / kTile;
  std::uint16_t bits = 0;
  std::memcpy(&bits, rounded + tile * kTileBytes + row % kTile * 64 + pair * 4 + half * 2, sizeof bits);
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

}  // namespace tern::amx
