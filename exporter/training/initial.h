// PyTorch's initial parameter values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "schema/program.h"

namespace tern {

/// PyTorch's generator of the CPU after torch.manual_seed(seed): the Mersenne twister of 32 bits (Matsumoto and
/// Nishimura, 1998), seeded with the low half of `seed`.
class PyTorchGenerator {
 public:
  explicit PyTorchGenerator(std::uint64_t seed) : twister_(static_cast<std::uint32_t>(seed)) {}

  /// torch.nn.init.kaiming_uniform_(matrix, a=sqrt(5)) of [out, in]: uniform within -bound to bound, with bound sqrt(2
  /// / (1 + a^2)) sqrt(3 / in). float64 takes 53 bits of two random words per element, other types 24 bits of one.
  std::vector<std::byte> kaiming_uniform(const TensorType& matrix);

 private:
  double uniform(DType dtype, double low, double high);

  std::mt19937 twister_;
};

}  // namespace tern
