#include <bit>
#include <cstring>

#include "dtypes/cpu_level.h"
#include "kernels/cpu/products/tiles/rows.h"
#include "kernels/cpu/products/tiles/split_microkernel.h"

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

float packed_element(const std::byte* packed, std::int64_t steps, std::int64_t n, std::int64_t k) {
  const std::int64_t tile = (n / kBlock * steps + k / kStep) * 2 + n % kBlock / kTile;
  std::uint16_t bits = 0;
  std::memcpy(&bits, packed + tile * kTileBytes + k % kStep / 2 * 64 + n % kTile * 4 + k % 2 * 2, sizeof bits);
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

}  // namespace tern::amx
