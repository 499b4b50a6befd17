// Gathers a strided operand into a tile.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/movement/transpose.h"
#include "kernels/cpu/pointwise/tile_program.h"
#include "kernels/cpu/strided.h"

namespace tern::pointwise {
namespace {

/// Writes `count` copies of v, in whole vectors: the last ones overlap.
template <class T>
void repeat(T v, T* dst, std::int64_t count) {
  if constexpr (sizeof(T) <= 8) {
    using Vector [[gnu::vector_size(16), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
    constexpr std::int64_t kLanes = sizeof(Vector) / sizeof(T);
    if (count >= kLanes) {
      const Vector all = Vector{} + v;
      std::int64_t i = 0;
      for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
        for (std::int64_t k = 0; k < 4; ++k) *reinterpret_cast<Vector*>(dst + i + k * kLanes) = all;
      }
      for (; i + kLanes <= count; i += kLanes) *reinterpret_cast<Vector*>(dst + i) = all;
      *reinterpret_cast<Vector*>(dst + count - kLanes) = all;
      return;
    }
  }
  for (std::int64_t i = 0; i < count; ++i) dst[i] = v;
}

template <class T>
void copy_run(std::byte* dst, const std::byte* src, std::int64_t stride, std::int64_t count) {
  T* d = reinterpret_cast<T*>(dst);
  const T* s = reinterpret_cast<const T*>(src);
  if (stride == 1 && count >= 8) {
    std::memcpy(dst, src, static_cast<std::size_t>(count) * sizeof(T));
  } else if (stride == 0) {
    repeat(*s, d, count);
  } else {
    for (std::int64_t i = 0; i < count; ++i) d[i] = s[i * stride];
  }
}

/// Repeats element r * step of `src` `columns` times, for each of `rows` rows, in whole vectors: a row's last vector
/// overlaps the next row.
template <class T>
void repeat_elements(T* dst, const T* src, std::int64_t step, std::int64_t columns, std::int64_t rows) {
  std::int64_t r = 0;
  if constexpr (sizeof(T) <= 8) {
    using Vector [[gnu::vector_size(16), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
    constexpr std::int64_t kLanes = sizeof(Vector) / sizeof(T);
    const std::int64_t vectors = (columns + kLanes - 1) / kLanes, whole = rows - vectors * kLanes / columns;
    for (; r < whole; ++r, dst += columns) {
      const Vector all = Vector{} + src[r * step];
      for (std::int64_t k = 0; k < vectors; ++k) *reinterpret_cast<Vector*>(dst + k * kLanes) = all;
    }
  }
  for (; r < rows; ++r, dst += columns) repeat(src[r * step], dst, columns);
}

/// Copies `rows` rows of a few elements to `dst`, one after the other.
template <class T>
void copy_short_rows(T* dst, const T* src, std::int64_t row_stride, std::int64_t stride, std::int64_t columns,
                     std::int64_t rows) {
  if (stride == 0) return repeat_elements(dst, src, row_stride, columns, rows);
  if (stride == 1 && row_stride == 0) {
    for (std::int64_t i = 0; i < columns; ++i) dst[i] = src[i];
    for (std::int64_t filled = columns, all = rows * columns; filled < all; filled *= 2)
      std::memcpy(dst + filled, dst, static_cast<std::size_t>(std::min(filled, all - filled)) * sizeof(T));
    return;
  }
  for (std::int64_t r = 0; r < rows; ++r, dst += columns, src += row_stride) {
    for (std::int64_t i = 0; i < columns; ++i) dst[i] = src[i * stride];
  }
}

template <class T>
void gather_as(const TileProgram& program, const Load& load, const std::byte* data, std::int64_t start,
               std::int64_t count, std::byte* dst) {
  const auto last = static_cast<std::size_t>(program.rank) - 1;
  std::array<std::int64_t, kMaxRank> at{};
  std::int64_t offset = 0;
  std::int64_t rest = start;
  for (std::size_t d = last + 1; d-- > 0;) {
    at[d] = rest % program.sizes[d];
    rest /= program.sizes[d];
    offset += at[d] * load.strides[d];
  }
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t inner = program.sizes[last];
  const bool has_short_rows = last > 0 && inner < kTiledRow;
  while (true) {
    const bool begins_row = at[last] == 0;
    const std::int64_t rows =
        has_short_rows && begins_row ? std::min(count / inner, program.sizes[last - 1] - at[last - 1]) : 0;
    const std::int64_t run = rows > 0 ? rows * inner : std::min(count, inner - at[last]);
    if (rows > 0) {
      copy_short_rows(reinterpret_cast<T*>(dst), reinterpret_cast<const T*>(data) + offset, load.strides[last - 1],
                      load.strides[last], inner, rows);
    } else {
      copy_run<T>(dst, data + offset * size, load.strides[last], run);
    }
    count -= run;
    if (count == 0) return;
    dst += run * size;
    // Moves to the next row.
    offset -= at[last] * load.strides[last];
    at[last] = 0;
    if (rows > 1) {
      offset += (rows - 1) * load.strides[last - 1];
      at[last - 1] += rows - 1;
    }
    for (std::size_t d = last; d-- > 0;) {
      offset += load.strides[d];
      if (++at[d] < program.sizes[d]) break;
      offset -= program.sizes[d] * load.strides[d];
      at[d] = 0;
    }
  }
}

/// The position of an element in the collapsed dimensions.
using Position = std::array<std::int64_t, kMaxRank>;
Position position_of(const TileProgram& program, std::int64_t element) {
  Position at{};
  for (auto d = static_cast<std::size_t>(program.rank); d-- > 0;) {
    at[d] = element % program.sizes[d];
    element /= program.sizes[d];
  }
  return at;
}

template <class T>
void gather_rows_as(const TileProgram& program, const Load& load, const std::byte* data, const OutputRows& r,
                    std::byte* dst) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  if (load.linear) {
    for (std::int64_t i = 0; i < r.rows; ++i)
      copy_run<T>(dst + i * r.columns * size, data + (r.begin + i * r.row_step) * size, 1, r.columns);
    return;
  }
  // Only the first row needs divisions: further rows add the digits of row_step.
  const auto last = static_cast<std::size_t>(program.rank) - 1;
  Position at = position_of(program, r.begin);
  const Position step = position_of(program, r.row_step);
  for (std::int64_t i = 0; i < r.rows; ++i) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d <= last; ++d) offset += at[d] * load.strides[d];
    if (at[last] + r.columns <= program.sizes[last]) {
      copy_run<T>(dst, data + offset * size, load.strides[last], r.columns);
    } else {
      gather_as<T>(program, load, data, r.begin + i * r.row_step, r.columns, dst);
    }
    dst += r.columns * size;
    std::int64_t carry = 0;
    for (std::size_t d = last + 1; d-- > 0;) {
      at[d] += step[d] + carry;
      carry = at[d] >= program.sizes[d] ? 1 : 0;
      at[d] -= carry != 0 ? program.sizes[d] : 0;
    }
  }
}

}  // namespace

void gather_rows(const TileProgram& program, const Load& load, const std::byte* data, const OutputRows& rows,
                 std::byte* dst) {
  switch (load.element) {
    case 1: return gather_rows_as<std::uint8_t>(program, load, data, rows, dst);
    case 2: return gather_rows_as<std::uint16_t>(program, load, data, rows, dst);
    case 4: return gather_rows_as<std::uint32_t>(program, load, data, rows, dst);
    case 8: return gather_rows_as<std::uint64_t>(program, load, data, rows, dst);
    default: return gather_rows_as<Bytes16>(program, load, data, rows, dst);
  }
}

void gather(const TileProgram& program, const Load& load, const std::byte* data, std::int64_t start, std::int64_t count,
            std::byte* dst) {
  if (count == 0) return;
  switch (load.element) {
    case 1: return gather_as<std::uint8_t>(program, load, data, start, count, dst);
    case 2: return gather_as<std::uint16_t>(program, load, data, start, count, dst);
    case 4: return gather_as<std::uint32_t>(program, load, data, start, count, dst);
    case 8: return gather_as<std::uint64_t>(program, load, data, start, count, dst);
    default: return gather_as<Bytes16>(program, load, data, start, count, dst);
  }
}

void gather_crossed(const std::byte* from, std::int64_t stride, std::int64_t size, std::int64_t rows,
                    std::int64_t count, std::byte* to, std::int64_t to_row) {
  const auto transpose = [&]<class T>(T) {
    const T* f = reinterpret_cast<const T*>(from);
    T* t = reinterpret_cast<T*>(to);
    for (std::int64_t j = 0; j < count; ++j) {
      for (std::int64_t i = 0; i < rows; ++i) t[i * to_row + j] = f[j * stride + i];
    }
  };
  switch (size) {
    case 1: return transpose(std::uint8_t{});
    case 2:
      return transpose_plane(reinterpret_cast<const std::uint16_t*>(from), stride, reinterpret_cast<std::uint16_t*>(to),
                             to_row, count, rows);
    case 4:
      return transpose_plane(reinterpret_cast<const std::uint32_t*>(from), stride, reinterpret_cast<std::uint32_t*>(to),
                             to_row, count, rows);
    default: return transpose(std::uint64_t{});
  }
}

void fill(std::byte* dst, const std::byte* element, std::int64_t size, std::int64_t count) {
  switch (size) {
    case 1: return copy_run<std::uint8_t>(dst, element, 0, count);
    case 2: return copy_run<std::uint16_t>(dst, element, 0, count);
    case 4: return copy_run<std::uint32_t>(dst, element, 0, count);
    case 8: return copy_run<std::uint64_t>(dst, element, 0, count);
    default: return copy_run<Bytes16>(dst, element, 0, count);
  }
}

}  // namespace tern::pointwise
