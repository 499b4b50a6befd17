// Measured on an H100 for float32 matrices of 16, 32 and 128 rows, in batches of 1 and of 256 to 16384. Other rows are
// estimates: a routine looping over matrices is slower than a kernel with one group per matrix. `./dev gpu-check`
// measures all routines and prints the resulting rows.
#include "devices/gpu/libraries/crossovers.h"

namespace tern::gpu {
std::span<const Crossover> crossovers() {
  using enum Factorization;
  constexpr Routine kNative = Routine::native, kSmall = Routine::small, kLarge = Routine::large;
  static constexpr Crossover kCrossovers[] = {
      {cholesky, "sdcz", 33, 1, kSmall},  {cholesky, "sdcz", 128, 1, kLarge}, {cholesky, "sdcz", 128, 16, kSmall},
      {cholesky, "sdcz", 512, 1, kLarge}, {eigh, "sdcz", 12, 1, kSmall},      {eigh, "sdcz", 33, 1, kLarge},
      {lu, "sdcz", 32, 16, kSmall},       {lu, "sdcz", 33, 1, kSmall},        {lu, "sdcz", 128, 1, kLarge},
      {lu, "sdcz", 128, 16, kSmall},      {lu, "sdcz", 512, 1, kLarge},       {qr, "sdcz", 32, 1, kLarge},
      {qr, "sdcz", 32, 16, kNative},      {qr, "sdcz", 512, 1, kLarge},       {svd, "sdcz", 12, 1, kSmall},
      {svd, "sdcz", 32, 16, kNative},     {svd, "sdcz", 33, 1, kLarge},       {svd, "sdcz", 33, 16, kNative},
      {svd, "sdcz", 256, 1, kLarge},
  };
  return kCrossovers;
}

}  // namespace tern::gpu
