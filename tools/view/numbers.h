// A state's initial value, row by row, as float64; exact for floats and for integers of 32 bits or fewer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exporter/passes/quantize/uses.h"
#include "schema/program.h"

namespace tern::view {

class StateRows {
 public:
  /// Reads the storage and checks its hash. Throws unsupported for values not shown: complex values, and more than
  /// kMaxElements (weight.h).
  StateRows(const Program& program, std::uint32_t state);

  /// Reads the matrix `part` of the same storage; false if the part is outside, or elements share bytes.
  bool read_as(const quantize::MatrixPart& part);

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }  ///< size of the last axis
  const State& state() const { return state_; }
  /// First byte of the storage.
  const std::byte* storage() const { return storage_; }
  /// Valid until the next call.
  std::span<const double> row(std::int64_t r);
  /// The stored bytes of the last row read: elements; empty for quantized or packed values.
  std::span<const std::byte> bytes() const { return gathered_; }

 private:
  const std::byte* element(std::int64_t row, std::int64_t column) const;

  const State& state_;
  std::int64_t elements_ = 0;  ///< number in the storage
  const std::byte* storage_ = nullptr;
  const std::byte* first_element_ = nullptr;  ///< first element
  std::vector<std::int64_t> sizes_, strides_;
  std::int64_t rows_ = 1, columns_ = 1;
  std::vector<std::byte> gathered_;
  std::vector<float> dequantized_;
  std::vector<double> row_;
};

}  // namespace tern::view
