// Figures of the emulated device, an NVIDIA H100 SXM.
#pragma once

#include <cstdint>

namespace tern::emulator {

struct Properties {
  const char* name = "emulated H100";
  uint32_t most_grid[3] = {2147483647, 65535, 65535};
  uint32_t most_block[3] = {1024, 1024, 64};
  uint32_t most_threads = 1024;
  uint32_t local_bytes = 48 << 10;             // per block, unless the function opts in
  uint32_t local_bytes_opt_in = 227 << 10;     // per block
  uint32_t local_bytes_processor = 228 << 10;  // per multiprocessor
  uint32_t local_bytes_reserved = 1 << 10;     // per block
  uint32_t multiprocessors = 132;
  uint32_t threads_processor = 2048, blocks_processor = 32, registers = 65536;
  uint32_t warp = 32;
  uint32_t clock_khz = 1980000, memory_clock_khz = 2619000, bus_bits = 5120, cache_bytes = 50 << 20;
  // Reported register count of every kernel.
  uint32_t registers_thread = 32;
};

inline const Properties& properties() {
  static const Properties result;
  return result;
}

}  // namespace tern::emulator
