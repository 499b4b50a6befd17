// Measured on an H100 for float32 and 16, 32 and 128 rows, one matrix and 256 to 16384 of them. Between and beyond, and
// for the other types, the rows are assumed: a routine that takes matrix after matrix is slower than groups that each
// have one.
// `./dev gpu-check` measures all three and prints the rows that they make.
#include "devices/gpu/libraries/crossovers.h"

namespace tern::gpu {
namespace {

using enum Factorization;
constexpr Routine kOwn = Routine::own, kSmall = Routine::small, kLarge = Routine::large;
constexpr Crossover kCrossovers[] = {
    {cholesky, "sdcz", 33, 1, kSmall},  {cholesky, "sdcz", 128, 1, kLarge}, {cholesky, "sdcz", 128, 16, kSmall},
    {cholesky, "sdcz", 512, 1, kLarge}, {eigh, "sdcz", 12, 1, kSmall},      {eigh, "sdcz", 33, 1, kLarge},
    {lu, "sdcz", 32, 16, kSmall},       {lu, "sdcz", 33, 1, kSmall},        {lu, "sdcz", 128, 1, kLarge},
    {lu, "sdcz", 128, 16, kSmall},      {lu, "sdcz", 512, 1, kLarge},       {qr, "sdcz", 32, 1, kLarge},
    {qr, "sdcz", 32, 16, kOwn},         {qr, "sdcz", 512, 1, kLarge},       {svd, "sdcz", 12, 1, kSmall},
    {svd, "sdcz", 32, 16, kOwn},        {svd, "sdcz", 33, 1, kLarge},       {svd, "sdcz", 33, 16, kOwn},
    {svd, "sdcz", 256, 1, kLarge},
};

}  // namespace

std::span<const Crossover> crossovers() {
  return kCrossovers;
}

}  // namespace tern::gpu
