// Types of GGUF's tensors as types of Tern's: the same elements, scales and zero points in another order of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "dtypes/blocks.h"

namespace tern::gguf {

/// A type of GGML, with the form of its values in Tern.
struct BlockType {
  std::uint32_t number;  ///< the file's
  const char* name;
  std::int64_t elements, bytes;  ///< size of a block in the file
  DType dtype;                   ///< type of the elements in Tern
  Blocks blocks;                 ///< columns 0: plain numbers
  /// Repacks one block into the row `destination`. Null for plain numbers: their bytes stay.
  void (*repack)(const std::byte* from, const struct RowPlaces& destination) = nullptr;

  bool is_plain() const { return repack == nullptr; }
};

/// Places of a row's parts in a quantized value (dtypes/blocks.h).
struct RowPlaces {
  std::uint8_t* elements;
  std::byte *scales, *zeros, *scale_units, *zero_units;
  std::int64_t columns;  ///< elements of the row
  std::int64_t block;    ///< number of the file's block in the row
};

/// Null for a number that is not supported.
const BlockType* find_block_type(std::uint32_t number);
/// "Q2_K", or "99" for an unknown number.
std::string type_text(std::uint32_t number);
/// "supported are F32, F16, ...".
std::string supported_types_text();

/// Moves row `row` of the file's rows of `columns` elements to row `to_row` of the value of matrix `m` at
/// `destination`.
void move_row(const BlockType& type, const QuantizedMatrix& m, std::span<const std::byte> rows, std::int64_t row,
              std::int64_t to_row, std::byte* destination);

}  // namespace tern::gguf
