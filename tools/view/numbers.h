// A state's initial value, row by row, as float32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schema/program.h"

namespace tern::view {

class Numbers {
 public:
  /// Reads the storage, which checks its hash. Throws unsupported for values that are not shown: complex ones, and
  /// those of more than kMostElements (weight.h).
  Numbers(const Program& program, std::uint32_t state);

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }  ///< of the last axis
  const State& state() const { return state_; }
  /// Of the state's first element.
  const std::byte* at() const { return at_; }
  /// Valid until the next call.
  std::span<const float> row(std::int64_t r);

 private:
  const std::byte* element(std::int64_t row, std::int64_t column) const;

  const State& state_;
  const std::byte* at_ = nullptr;
  std::vector<std::int64_t> sizes_;
  std::int64_t rows_ = 1, columns_ = 1;
  std::vector<std::byte> gathered_;
  std::vector<float> row_;
};

}  // namespace tern::view
