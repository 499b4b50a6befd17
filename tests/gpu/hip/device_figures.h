// Figures of the emulated device, an AMD Instinct MI300X (AMD CDNA 3 architecture white paper, data sheet).
#ifndef TERN_TESTS_GPU_HIP_DEVICE_FIGURES_H
#define TERN_TESTS_GPU_HIP_DEVICE_FIGURES_H

namespace tern::gpu::hip {

inline constexpr char kDeviceName[] = "AMD Instinct MI300X";
inline constexpr int kWave = 64, kMostThreads = 1024, kComputeUnits = 304, kThreadsOfUnit = 2048;
inline constexpr int kLocalBytes = 64 << 10, kRegistersOfUnit = 131072;
inline constexpr int kClock = 2100000, kMemoryClock = 1300000, kBusBits = 8192, kCacheBytes = 4 << 20;
inline constexpr int kMostGrid = 2147483647;

}  // namespace tern::gpu::hip

#endif
