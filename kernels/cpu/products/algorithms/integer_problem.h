// A matmul node of integers of 8 bits.
#pragma once

#include <optional>

#include "kernels/cpu/products/choose.h"
#include "kernels/cpu/products/int8/weight_pack.h"
#include "kernels/cpu/products/problem.h"

namespace tern::cpu {

struct IntegerProduct {
  Problem problem;
  int8::Signs signs;
  bool stores_sums = false;  ///< the result is int32; otherwise float32
  bool copies_x = false;     ///< elements of a row do not lie side by side

  /// Columns of the second operand of one plane, which lies at `data`.
  int8::WeightView weight(const std::byte* data) const;
  std::int64_t x_row() const;
};

/// True if blocks of sums can be stored as the call's result: 8-bit integers are made while they are stored.
bool stores_result(const IntegerProduct& product, const KernelCall& call);

/// Absent for other nodes, and if sums in 32 bits are not exact.
std::optional<IntegerProduct> integer_product(const KernelCall& c);

}  // namespace tern::cpu
