// Measured on an H100 for float32 and 32 rows, one matrix and 4096 of them. The others are assumed: PyTorch's choices
// among cuSOLVER's and cuBLAS's routines, and Tern's kernels where a matrix has few elements for a group of items.
// `./dev gpu-check` measures all three and prints the rows that they make.
#include "devices/gpu/libraries/crossovers.h"

namespace tern::gpu {
namespace {

using enum Factorization;
constexpr Routine kOwn = Routine::own, kSmall = Routine::small, kLarge = Routine::large;
constexpr Crossover kCrossovers[] = {
    {cholesky, "sdcz", 33, 1, kSmall}, {cholesky, "sdcz", 512, 1, kLarge}, {eigh, "sdcz", 12, 1, kSmall},
    {eigh, "sdcz", 33, 1, kLarge},     {lu, "sdcz", 32, 16, kSmall},       {lu, "sdcz", 33, 1, kSmall},
    {lu, "sdcz", 512, 1, kLarge},      {qr, "sdcz", 32, 1, kLarge},        {qr, "sdcz", 32, 16, kOwn},
    {qr, "sdcz", 256, 1, kLarge},      {svd, "sdcz", 12, 1, kSmall},       {svd, "sdcz", 32, 16, kOwn},
    {svd, "sdcz", 33, 1, kOwn},        {svd, "sdcz", 128, 1, kLarge},
};

}  // namespace

std::span<const Crossover> crossovers() {
  return kCrossovers;
}

}  // namespace tern::gpu
