// Estimates like CUDA's, not measured: Tern's kernels win if a matrix has few elements per work-group. `./dev
// gpu-check` measures all routines and prints the resulting rows.
#include "devices/gpu/libraries/crossovers.h"

namespace tern::gpu {
std::span<const Crossover> crossovers() {
  using enum Factorization;
  constexpr Routine kSmall = Routine::small, kLarge = Routine::large;
  static constexpr Crossover kCrossovers[] = {
      {cholesky, "sdcz", 32, 1, kSmall}, {eigh, "sdcz", 12, 1, kSmall}, {eigh, "sdcz", 65, 1, kLarge},
      {lu, "sdcz", 32, 1, kSmall},       {qr, "sdcz", 64, 1, kSmall},   {svd, "sdcz", 128, 1, kLarge},
  };
  return kCrossovers;
}

}  // namespace tern::gpu
