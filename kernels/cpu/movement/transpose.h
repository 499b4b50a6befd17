// Transposes planes of elements of two or four bytes in registers.
#pragma once

#include <cstdint>

namespace tern {

/// Transposes rows that are contiguous in `from` to rows that are contiguous in `to`: element (i, j) lies at
/// i * from_row + j and goes to j * to_row + i.
void transpose_plane(const std::uint32_t* from, std::int64_t from_row, std::uint32_t* to, std::int64_t to_row,
                     std::int64_t rows, std::int64_t columns);
void transpose_plane(const std::uint16_t* from, std::int64_t from_row, std::uint16_t* to, std::int64_t to_row,
                     std::int64_t rows, std::int64_t columns);

}  // namespace tern
