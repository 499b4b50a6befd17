// A state's initial value, row by row, as float64: no value of 32 bits or fewer changes, and floats of 64 bits do not.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exporter/passes/quantize/uses.h"
#include "schema/program.h"

namespace tern::view {

class Numbers {
 public:
  /// Reads the storage, which checks its hash. Throws unsupported for values that are not shown: complex ones, and
  /// those of more than kMostElements (weight.h).
  Numbers(const Program& program, std::uint32_t state);

  /// As the matrix that `part` is of the same storage; false where that lies outside, or elements share bytes.
  bool read_as(const quantize::MatrixPart& part);

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }  ///< of the last axis
  const State& state() const { return state_; }
  /// Of the storage's first byte.
  const std::byte* storage() const { return storage_; }
  /// Valid until the next call.
  std::span<const double> row(std::int64_t r);
  /// Of the row that was read last, as it is stored: elements, and nothing of quantized or packed ones.
  std::span<const std::byte> bytes() const { return gathered_; }

 private:
  const std::byte* element(std::int64_t row, std::int64_t column) const;

  const State& state_;
  std::int64_t elements_ = 0;  ///< of the storage
  const std::byte* storage_ = nullptr;
  const std::byte* at_ = nullptr;  ///< of the first element
  std::vector<std::int64_t> sizes_, strides_;
  std::int64_t rows_ = 1, columns_ = 1;
  std::vector<std::byte> gathered_;
  std::vector<float> dequantized_;
  std::vector<double> row_;
};

}  // namespace tern::view
