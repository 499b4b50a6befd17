// Copies between strided views: sorts axes in the order of the destination and merges axes contiguous in both views;
// then copies rows, or tiles if the source runs across the rows.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "dtypes/levels.h"
#include "kernels/cpu/movement/transpose.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/strided.h"
#include "kernels/kernel.h"
#include "threads/parallel.h"

namespace tern {
namespace {

struct CopyAxis {
  std::int64_t size, source_stride, target_stride;  ///< strides in elements
};

/// Collects the axes of both views, drops size 1 and merges contiguous neighbours.
int collapse(const TensorView& from, const TensorView& to, std::array<CopyAxis, kMaxRank>& axes) {
  std::array<CopyAxis, kMaxRank> sorted;
  std::size_t count = 0;
  for (int i = 0; i < to.rank; ++i) {
    if (to.size(i) == 1) continue;
    std::size_t at = count++;
    for (; at > 0 && sorted[at - 1].target_stride < to.stride(i); --at) sorted[at] = sorted[at - 1];
    sorted[at] = {to.size(i), from.stride(i), to.stride(i)};
  }
  int n = 0;
  for (const CopyAxis& a : std::span(sorted).first(count)) {
    if (n > 0) {
      CopyAxis& last = axes[static_cast<std::size_t>(n - 1)];
      if (last.source_stride == a.source_stride * a.size && last.target_stride == a.target_stride * a.size) {
        last = {last.size * a.size, a.source_stride, a.target_stride};
        continue;
      }
    }
    axes[static_cast<std::size_t>(n++)] = a;
  }
  return n;
}

/// Moves the first and the last bytes of a row of sizeof(Word) to 2 * sizeof(Word) bytes.
template <class Word>
void copy_ends(const std::byte* from, std::byte* to, std::size_t bytes) {
  Word head, tail;
  std::memcpy(&head, from, sizeof(Word));
  std::memcpy(&tail, from + bytes - sizeof(Word), sizeof(Word));
  std::memcpy(to, &head, sizeof(Word));
  std::memcpy(to + bytes - sizeof(Word), &tail, sizeof(Word));
}

/// Copies 1 to kFewBytes bytes by moves that overlap, without a library call.
constexpr std::size_t kFewBytes = 192;
inline void copy_few_bytes(const void* from, void* to, std::size_t bytes) {
  const auto* f = static_cast<const std::byte*>(from);
  auto* t = static_cast<std::byte*>(to);
  if (bytes < 2) return copy_ends<std::uint8_t>(f, t, bytes);
  if (bytes < 4) return copy_ends<std::uint16_t>(f, t, bytes);
  if (bytes < 8) return copy_ends<std::uint32_t>(f, t, bytes);
  if (bytes < 16) return copy_ends<std::uint64_t>(f, t, bytes);
  Bytes16 head, tail;
  std::memcpy(&tail, f + bytes - 16, 16);
  for (std::size_t at = 0; at + 16 < bytes; at += 16) {
    std::memcpy(&head, f + at, 16);
    std::memcpy(t + at, &head, 16);
  }
  std::memcpy(t + bytes - 16, &tail, 16);
}

template <class T>
void copy_row(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t count) {
  if (from_stride == 1 && to_stride == 1) {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    if (bytes > 0 && bytes <= kFewBytes) return copy_few_bytes(from, to, bytes);
    std::memcpy(to, from, bytes);
  } else if (from_stride == 0 && to_stride == 1) {
    std::fill_n(to, count, *from);
  } else if (from_stride == -1 && to_stride == 1) {
    const T* first = from - (count - 1);
    visit_cpu_level([&](auto) __attribute__((always_inline)) {
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) to[i] = first[count - 1 - i];
    });
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

constexpr std::int64_t kTile = 32;

/// Eight elements of two or four bytes.
template <class T>
using EightElements [[gnu::vector_size(8 * sizeof(T)), gnu::aligned(sizeof(T)), gnu::may_alias]] = T;

/// Transposes eight rows of eight elements of four bytes; a register has two halves that shuffle alike.
[[gnu::always_inline]] inline void transpose_registers(EightElements<std::uint32_t> (&r)[8]) {
  EightElements<std::uint32_t> pairs[8], fours[8];
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    pairs[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
#pragma GCC unroll 2
    for (int k = 0; k < 2; ++k) {
      fours[i + 2 * k] = __builtin_shufflevector(pairs[i + k], pairs[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      fours[i + 2 * k + 1] = __builtin_shufflevector(pairs[i + k], pairs[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    r[i] = __builtin_shufflevector(fours[i], fours[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    r[i + 4] = __builtin_shufflevector(fours[i], fours[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

/// Transposes eight rows of eight elements of two bytes.
[[gnu::always_inline]] inline void transpose_registers(EightElements<std::uint16_t> (&r)[8]) {
  EightElements<std::uint16_t> pairs[8], fours[8];  // pairs: columns 0 to 3 and 4 to 7; fours: two columns each
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 2, 10, 3, 11);
    pairs[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 4, 12, 5, 13, 6, 14, 7, 15);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
#pragma GCC unroll 2
    for (int k = 0; k < 2; ++k) {
      fours[i + 2 * k] = __builtin_shufflevector(pairs[i + k], pairs[i + k + 2], 0, 1, 8, 9, 2, 3, 10, 11);
      fours[i + 2 * k + 1] = __builtin_shufflevector(pairs[i + k], pairs[i + k + 2], 4, 5, 12, 13, 6, 7, 14, 15);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    r[2 * i] = __builtin_shufflevector(fours[i], fours[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    r[2 * i + 1] = __builtin_shufflevector(fours[i], fours[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

/// Elements of a row or column that blocks of eight transpose. The last block overlaps the one before it; one or two
/// elements that remain are moved alone.
std::int64_t blocked_count(std::int64_t count) {
  return count < 8 ? 0 : count % 8 <= 2 ? count - count % 8 : count;
}

template <class T>
void transpose_elements(const T* from, std::int64_t from_row, T* to, std::int64_t to_row, std::int64_t rows,
                        std::int64_t columns) {
  constexpr std::int64_t kBlock = 8;
  visit_cpu_level([&](auto) __attribute__((always_inline)) {
    const std::int64_t block_columns = blocked_count(columns),
                       block_rows = block_columns == 0 ? 0 : blocked_count(rows);
    for (std::int64_t i = 0; i < block_rows; i += kBlock) {
      const std::int64_t row = std::min(i, rows - kBlock);
      for (std::int64_t j = 0; j < block_columns; j += kBlock) {
        const std::int64_t column = std::min(j, columns - kBlock);
        EightElements<T> block[kBlock];
#pragma GCC unroll 8
        for (int k = 0; k < kBlock; ++k)
          block[k] = *reinterpret_cast<const EightElements<T>*>(from + (row + k) * from_row + column);
        transpose_registers(block);
#pragma GCC unroll 8
        for (int k = 0; k < kBlock; ++k)
          *reinterpret_cast<EightElements<T>*>(to + (column + k) * to_row + row) = block[k];
      }
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = i < block_rows ? block_columns : 0; j < columns; ++j)
        to[j * to_row + i] = from[i * from_row + j];
    }
  });
}

}  // namespace

void transpose_plane(const std::uint32_t* from, std::int64_t from_row, std::uint32_t* to, std::int64_t to_row,
                     std::int64_t rows, std::int64_t columns) {
  transpose_elements(from, from_row, to, to_row, rows, columns);
}
void transpose_plane(const std::uint16_t* from, std::int64_t from_row, std::uint16_t* to, std::int64_t to_row,
                     std::int64_t rows, std::int64_t columns) {
  transpose_elements(from, from_row, to, to_row, rows, columns);
}

namespace {

constexpr std::int64_t kInterleavedRows = 7;

/// Interleaves `Rows` rows of `from`: to[j * Rows + i] = from[i * from_row + j].
template <int Rows, class T>
void interleave_rows(const T* from, std::int64_t from_row, T* to, std::int64_t columns) {
  visit_cpu_level([&](auto) __attribute__((always_inline)) {
    const T* rows[Rows];
    for (int i = 0; i < Rows; ++i) rows[i] = from + i * from_row;
    for (std::int64_t j = 0; j < columns; ++j) {
#pragma GCC unroll 8
      for (int i = 0; i < Rows; ++i) to[j * Rows + i] = rows[i][j];
    }
  });
}

/// Separates what `interleave_rows` makes: to[i * to_row + j] = from[j * Rows + i].
template <int Rows, class T>
void separate_rows(const T* from, T* to, std::int64_t to_row, std::int64_t columns) {
  visit_cpu_level([&](auto) __attribute__((always_inline)) {
    T* rows[Rows];
    for (int i = 0; i < Rows; ++i) rows[i] = to + i * to_row;
    for (std::int64_t j = 0; j < columns; ++j) {
#pragma GCC unroll 8
      for (int i = 0; i < Rows; ++i) rows[i][j] = from[j * Rows + i];
    }
  });
}

/// Copies a plane between dense rows and their few interleaved rows, such as images of three channels. Returns false
/// for other planes.
template <class T>
bool copy_few_rows(const T* from, T* to, const CopyAxis& rows, const CopyAxis& columns) {
  const auto for_rows = [&](std::int64_t count, const auto& copy) {
    switch (count) {
      case 2: copy(std::integral_constant<int, 2>()); return true;
      case 3: copy(std::integral_constant<int, 3>()); return true;
      case 4: copy(std::integral_constant<int, 4>()); return true;
      case 5: copy(std::integral_constant<int, 5>()); return true;
      case 6: copy(std::integral_constant<int, 6>()); return true;
      case 7: copy(std::integral_constant<int, 7>()); return true;
      default: return false;
    }
  };
  if (rows.target_stride == 1 && columns.source_stride == 1 && columns.target_stride == rows.size) {
    return for_rows(rows.size, [&](auto count) {
      interleave_rows<decltype(count)::value>(from, rows.source_stride, to, columns.size);
    });
  }
  if (rows.source_stride == 1 && columns.target_stride == 1 && columns.source_stride == rows.size) {
    return for_rows(rows.size, [&](auto count) {
      separate_rows<decltype(count)::value>(from, to, rows.target_stride, columns.size);
    });
  }
  return false;
}

/// Transposes a plane in tiles that fit the first cache.
template <class T>
void copy_plane(const T* from, T* to, const CopyAxis& rows, const CopyAxis& columns) {
  constexpr bool kHasRegisters = sizeof(T) == 2 || sizeof(T) == 4;
  if constexpr (kHasRegisters) {
    if (rows.size <= kInterleavedRows && copy_few_rows(from, to, rows, columns)) return;
  }
  for (std::int64_t r = 0; r < rows.size; r += kTile) {
    const std::int64_t r_end = std::min(rows.size, r + kTile);
    for (std::int64_t c = 0; c < columns.size; c += kTile) {
      const std::int64_t c_end = std::min(columns.size, c + kTile);
      if constexpr (kHasRegisters) {
        const T* source = from + r * rows.source_stride + c * columns.source_stride;
        T* target = to + r * rows.target_stride + c * columns.target_stride;
        if (columns.source_stride == 1 && rows.target_stride == 1) {
          transpose_plane(source, rows.source_stride, target, columns.target_stride, r_end - r, c_end - c);
          continue;
        }
        if (rows.source_stride == 1 && columns.target_stride == 1) {
          transpose_plane(source, columns.source_stride, target, rows.target_stride, c_end - c, r_end - r);
          continue;
        }
      }
      for (std::int64_t i = r; i < r_end; ++i) {
        for (std::int64_t j = c; j < c_end; ++j)
          to[i * rows.target_stride + j * columns.target_stride] =
              from[i * rows.source_stride + j * columns.source_stride];
      }
    }
  }
}

/// Shorter rows are copied several at a time: kernel elements, when gradients transpose weights.
constexpr std::int64_t kShortRow = 32;

/// Copies short rows in tiles of two axes, so a cache line read for a row is still present for the next rows. The last
/// axis is the row, the previous axis is densest in the destination; `dense` is densest in the source.
template <class T>
void copy_short_rows(const T* from, T* to, std::span<const CopyAxis> axes, std::size_t dense) {
  const std::size_t outer = axes.size() - 2;
  const CopyAxis row = axes.back(), near = axes[outer], other = dense == outer ? CopyAxis{1, 0, 0} : axes[dense];
  const std::int64_t tiles = (near.size + kTile - 1) / kTile, others = (other.size + kTile - 1) / kTile;
  std::int64_t count = 1;
  for (std::size_t i = 0; i < outer; ++i) count *= i == dense ? others : axes[i].size;
  parallel_for(count * tiles, grain_for(kTile * std::min(kTile, other.size) * row.size),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t o = begin; o < end; ++o) {
                   const std::int64_t first = o % tiles * kTile, last = std::min(near.size, first + kTile);
                   std::int64_t rest = o / tiles, low = 0;
                   const T* f = from;
                   T* t = to;
                   for (std::size_t i = outer; i-- > 0;) {
                     const CopyAxis& a = axes[i];
                     const std::int64_t size = i == dense ? others : a.size, at = rest % size;
                     rest /= size;
                     if (i == dense) {
                       low = at * kTile;
                     } else {
                       f += at * a.source_stride;
                       t += at * a.target_stride;
                     }
                   }
                   const std::int64_t high = std::min(other.size, low + kTile);
                   for (std::int64_t i = low; i < high; ++i) {
                     for (std::int64_t j = first; j < last; ++j)
                       copy_row(f + i * other.source_stride + j * near.source_stride, row.source_stride,
                                t + i * other.target_stride + j * near.target_stride, row.target_stride, row.size);
                   }
                 }
               });
}

template <class T>
void copy_axes(const T* from, T* to, std::array<CopyAxis, kMaxRank>& axes, int n) {
  if (n == 0) {
    *to = *from;
    return;
  }
  CopyAxis inner = axes[static_cast<std::size_t>(n - 1)];
  int outer = n - 1;
  CopyAxis across{1, 0, 0};
  // Finds an axis with adjacent elements in the other view: such planes are copied in tiles.
  const auto is_across = [&](const CopyAxis& a) {
    const bool repeats_few = inner.source_stride == 0 && inner.size <= kInterleavedRows;
    const bool is_reversed = inner.source_stride != -1 && a.source_stride == -1;
    return inner.source_stride != 1 ? (inner.source_stride != 0 || repeats_few) && (a.source_stride == 1 || is_reversed)
                                    : inner.target_stride != 1 && a.target_stride == 1;
  };
  for (int i = 0; i < outer; ++i) {
    if (!is_across(axes[static_cast<std::size_t>(i)])) continue;
    across = axes[static_cast<std::size_t>(i)];
    for (int j = i; j + 1 < outer; ++j) axes[static_cast<std::size_t>(j)] = axes[static_cast<std::size_t>(j) + 1];
    --outer;
    if (across.source_stride == -1) {  // goes through the axis from its end
      from -= across.size - 1;
      to += (across.size - 1) * across.target_stride;
      across.source_stride = 1;
      across.target_stride = -across.target_stride;
    }
    break;
  }
  if (across.size == 1 && inner.size < kShortRow && outer > 0) {
    const std::span all = std::span(axes).first(static_cast<std::size_t>(n));
    const auto least = std::ranges::min_element(all.first(all.size() - 1), {}, [](const CopyAxis& a) {
      return a.source_stride == 0 ? std::numeric_limits<std::int64_t>::max() : std::abs(a.source_stride);
    });
    return copy_short_rows<T>(from, to, all, static_cast<std::size_t>(least - all.begin()));
  }
  std::int64_t count = 1;
  for (int i = 0; i < outer; ++i) count *= axes[static_cast<std::size_t>(i)].size;
  // Threads share long runs and large planes in pieces.
  constexpr std::int64_t kPiece = 1 << 12;
  if (across.size > inner.size) std::swap(inner, across);
  const std::int64_t piece = std::min(inner.size, std::max(kTile, kPiece / across.size / kTile * kTile)),
                     pieces = (inner.size + piece - 1) / piece;
  parallel_for(count * pieces, grain_for(piece * across.size), [&](std::int64_t begin, std::int64_t end) {
    // The position of the first piece; each further one is a step of the innermost axes.
    std::array<std::int64_t, kMaxRank> at{};
    const T* row_from = from;
    T* row_to = to;
    std::int64_t rest = begin / pieces, number = begin % pieces;
    for (auto i = static_cast<std::size_t>(outer); i-- > 0;) {
      at[i] = rest % axes[i].size;
      rest /= axes[i].size;
      row_from += at[i] * axes[i].source_stride;
      row_to += at[i] * axes[i].target_stride;
    }
    for (std::int64_t o = begin; o < end; ++o) {
      const std::int64_t first = number * piece;
      CopyAxis part = inner;
      part.size = std::min(piece, inner.size - first);
      const T* f = row_from + first * inner.source_stride;
      T* t = row_to + first * inner.target_stride;
      if (++number == pieces) {
        number = 0;
        for (auto i = static_cast<std::size_t>(outer); i-- > 0;) {
          const bool carries = ++at[i] == axes[i].size;
          const std::int64_t steps = carries ? 1 - axes[i].size : 1;
          row_from += steps * axes[i].source_stride;
          row_to += steps * axes[i].target_stride;
          if (!carries) break;
          at[i] = 0;
        }
      }
      if (across.size == 1) {
        copy_row(f, part.source_stride, t, part.target_stride, part.size);
      } else {
        copy_plane(f, t, across, part);
      }
    }
  });
}

}  // namespace

void copy_strided(const TensorView& from, const TensorView& to) {
  if (to.numel() == 0) return;
  if (elements_per_byte(to.dtype) != 1) {  // packed types are always contiguous
    std::memcpy(to.data, from.data, static_cast<std::size_t>((to.numel() + 1) / 2));
    return;
  }
  std::array<CopyAxis, kMaxRank> axes;
  const int n = collapse(from, to, axes);
  switch (element_size(to.dtype)) {
    case 1: return copy_axes(from.data_as<std::uint8_t>(), to.data_as<std::uint8_t>(), axes, n);
    case 2: return copy_axes(from.data_as<std::uint16_t>(), to.data_as<std::uint16_t>(), axes, n);
    case 4: return copy_axes(from.data_as<std::uint32_t>(), to.data_as<std::uint32_t>(), axes, n);
    case 8: return copy_axes(from.data_as<std::uint64_t>(), to.data_as<std::uint64_t>(), axes, n);
    default: return copy_axes(from.data_as<Bytes16>(), to.data_as<Bytes16>(), axes, n);
  }
}

}  // namespace tern
