// y = x w^T + bias on matrix tiles, with a weight that is read where it lies: nothing is packed, at load or later.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/cpu/amx/amx.h"
#include "kernels/cpu/pointwise/finish.h"

namespace tern::amx {

/// y [m, n] (dense) from x [m, k] (rows `x_row` apart) and w [n, k] (rows `w_row` apart).
struct LinearShape {
  std::int64_t m = 0, n = 0, k = 0, x_row = 0, w_row = 0;
  int parts = kAllParts;
};

struct LinearOperands {
  const float *x = nullptr, *weight = nullptr;
  const float* bias = nullptr;  ///< [n], or null
  float* y = nullptr;
  pointwise::Finish finish;
  const std::byte* rounded = nullptr;  ///< the weight as `round` wrote it: `weight` is not read
};

class Linear {
 public:
  explicit Linear(const LinearShape& shape);
  /// Whether tiles gain anything for this shape, here.
  static bool suits(const LinearShape& shape);
  /// The weight rounded once, for shapes of one part; and as a dense [n, k] again.
  std::int64_t rounded_bytes() const { return amx::rounded_bytes(shape_.n, shape_.k); }
  void round(const float* weight, std::byte* to) const;
  void unpack(const std::byte* rounded, float* to) const;
  /// Bytes for as many threads as are set now.
  std::size_t scratch() const;
  /// On several threads. False when some result is not finite: then y is to be computed in another way. `scratch`:
  /// as many bytes as asked for, 64-byte aligned.
  bool run(const LinearOperands& o, std::byte* scratch) const;

 private:
  LinearShape shape_;
  std::int64_t rows_at_a_time_;
  std::vector<std::int64_t> steps_;
};

}  // namespace tern::amx
