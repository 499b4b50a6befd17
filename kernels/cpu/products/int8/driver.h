// y = x w^T + bias of integers of 8 bits, by a weight that was packed before.
#pragma once

#include <vector>

#include "kernels/cpu/products/int8/weight_pack.h"
#include "kernels/cpu/products/row_division.h"

namespace tern::int8 {

struct Int8LinearShape {
  std::int64_t m = 0, n = 0, k = 0;
  Signs signs;
};

struct Int8LinearOperands {
  const std::byte* x = nullptr;
  std::int64_t x_row = 0;              ///< bytes between rows, whose elements lie side by side
  const std::byte* weight = nullptr;   ///< packed by `pack`
  const std::int32_t* bias = nullptr;  ///< [n], or null
  std::byte* y = nullptr;              ///< [m, n], of int32 or float32
  bool stores_sums = false;            ///< y is int32; without a finish
  std::int64_t first = 0;              ///< row of y, as the finish counts them, of the first result
  pointwise::BoundEpilogue finish;
};

class Int8Linear {
 public:
  Int8Linear(const Int8LinearShape& shape, const Method& method);

  /// Bytes of the packed weight, and of the sum of each column.
  std::int64_t packed_bytes() const { return weight_.bytes() + weight_.blocks() * kBlock * 4; }
  /// Runs on several threads.
  void pack(const WeightView& weight, std::byte* to) const;
  /// Bytes that `run` wants, 64-byte aligned.
  std::size_t scratch() const;
  /// Runs on several threads.
  void run(const Int8LinearOperands& o, std::byte* scratch) const;

 private:
  bool flips() const { return method_->flips(shape_.signs); }
  /// Added to the columns' sums: null where nothing is.
  const std::int32_t* offsets(const Int8LinearOperands& o, std::int32_t* to) const;
  void pack_rows(const std::byte* x, std::int64_t x_row, IndexRange rows, std::byte* to) const;

  Int8LinearShape shape_;
  const Method* method_;
  PackedInt8Weight weight_;
  tiles::RowDivision division_;
  std::vector<std::int64_t> steps_;
  std::vector<std::uint8_t> groups_;
  tiles::RowLayout layout_;  ///< the layout of packed rows
};

/// The groups of four of each step of k elements that do not meet zeros only.
void add_groups(std::int64_t k, std::vector<std::uint8_t>& groups);

/// The offsets of a method's sums: `bias`, and the products of the weight by which its rows were shifted.
void add_offsets(const Signs& signs, const std::int32_t* bias, const std::int32_t* sums, std::int64_t n,
                 std::int32_t* to);

}  // namespace tern::int8
