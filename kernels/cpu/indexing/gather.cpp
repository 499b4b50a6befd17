// gather, index_select and index: copy elements or whole rows from positions.
#include <algorithm>
#include <vector>

#include "kernels/cpu/indexing/indexing.h"
#include "kernels/cpu/indexing/positions.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/strided.h"
#include "threads/parallel.h"

namespace tern {
namespace {

/// Calls f with an unsigned integer of `size` bytes (16: Bytes16), to move elements of any type.
template <class F>
void visit_size(std::int64_t size, F&& f) {
  switch (size) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    case 8: return f(std::uint64_t{});
    default: return f(Bytes16{});
  }
}

/// to[i] = from[entries[i]]
template <class T, class Entry>
void gather_elements(const T* from, const Entry* entries, std::int64_t count, T* to) {
  visit_cpu_level([&](auto) __attribute__((always_inline)) {
    if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) to[i] = from[static_cast<std::int64_t>(entries[i])];
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i] = from[static_cast<std::int64_t>(entries[i])];
    }
  });
}

/// Copies row `from` to row `to` between tables with equal row sizes.
class RowCopy {
 public:
  RowCopy(const std::byte* from, std::byte* to, std::int64_t bytes) : source_(from), target_(to), bytes_(bytes) {}
  void operator()(std::int64_t from, std::int64_t to) const {
    const std::byte* source = source_ + from * bytes_;
    std::byte* target = target_ + to * bytes_;
    // Constant lengths compile to single moves.
    switch (bytes_) {
      case 1: *target = *source; break;
      case 2: std::memcpy(target, source, 2); break;
      case 4: std::memcpy(target, source, 4); break;
      case 8: std::memcpy(target, source, 8); break;
      case 16: std::memcpy(target, source, 16); break;
      default: std::memcpy(target, source, static_cast<std::size_t>(bytes_));
    }
  }
  /// Copies the rows from[i] to the rows `first` + i.
  template <class Entry>
  void rows(const Entry* from, std::int64_t count, std::int64_t first) const {
    switch (bytes_) {
      case 1: return elements<std::uint8_t>(from, count, first);
      case 2: return elements<std::uint16_t>(from, count, first);
      case 4: return elements<std::uint32_t>(from, count, first);
      case 8: return elements<std::uint64_t>(from, count, first);
      default:
        for (std::int64_t i = 0; i < count; ++i) (*this)(from[i], first + i);
    }
  }

 private:
  template <class T, class Entry>
  void elements(const Entry* from, std::int64_t count, std::int64_t first) const {
    const T* source = reinterpret_cast<const T*>(source_);
    gather_elements(source, from, count, reinterpret_cast<T*>(target_) + first);
  }

  const std::byte* source_;
  std::byte* target_;
  std::int64_t bytes_;
};

/// Returns the number of elements in axes [first, last).
std::int64_t product_of_sizes(const TensorView& v, int first, int last) {
  std::int64_t n = 1;
  for (int i = first; i < last; ++i) n *= v.size(i);
  return n;
}

}  // namespace

void cpu_gather(KernelCall& c) {
  const TensorView &x = c.in[0], &index = c.in[1], &out = c.out[0];
  if (index.numel() == 0) return;
  const Positions positions(index);
  const int axis = axis_of(*c.node, x.rank), last_axis = x.rank - 1;
  const std::int64_t axis_size = x.size(axis), axis_stride = x.stride(axis);
  CollapsedAxes outer;
  for (int i = 0; i < last_axis; ++i) outer.add(index.size(i), i == axis ? 0 : x.stride(i));
  const std::int64_t columns = index.size(last_axis), column_stride = last_axis == axis ? 0 : x.stride(last_axis);
  visit_size(element_size(x.dtype), [&]<class T>(T) {
    const T* data = x.data_as<T>();
    T* out_data = out.data_as<T>();
    parallel_for(outer.count, grain_for(columns), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const T* base = data + outer.offset(row);
        T* to = out_data + row * columns;
        positions.visit(row * columns, [&](const auto* entries) {
          for (std::int64_t column = 0; column < columns; ++column)
            to[column] = base[column * column_stride + Positions::checked(entries[column], axis_size) * axis_stride];
        });
      }
    });
  });
}

namespace {

/// Copies a few rows of each of many slices: one list of positions serves several slices.
void select_from_slices(const Positions& positions, std::int64_t count, std::int64_t axis_size, std::int64_t slices,
                        const TensorView& x, const TensorView& out, std::int64_t row_bytes) {
  constexpr std::int64_t kEntries = 512;
  const std::int64_t together = std::min(kEntries / count, slices);
  std::int64_t entries[kEntries];
  for (std::int64_t i = 0; i < together * count; ++i) entries[i] = i / count * axis_size + positions[i % count];
  const std::int64_t groups = (slices + together - 1) / together;
  parallel_for(groups, grain_for(together * count), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t group = begin; group < end; ++group) {
      const std::int64_t first = group * together, n = std::min(together, slices - first);
      const RowCopy copy(x.data + first * axis_size * row_bytes, out.data + first * count * row_bytes, row_bytes);
      copy.rows(entries, n * count, 0);
    }
  });
}

}  // namespace

void cpu_index_select(KernelCall& c) {
  const TensorView &x = c.in[0], &index = c.in[1], &out = c.out[0];
  if (out.numel() == 0) return;
  if (x.blocks.columns != 0) return cpu_select_quantized_rows(c);
  const Positions positions(index);
  const int axis = axis_of(*c.node, x.rank);
  const std::int64_t axis_size = x.size(axis), count = index.numel(), outer = product_of_sizes(x, 0, axis),
                     row_elements = product_of_sizes(x, axis + 1, x.rank),
                     row_bytes = row_elements * element_size(x.dtype);
  positions.check(0, count, axis_size);
  constexpr std::int64_t kFew = 64, kShortRow = 64;
  if (count <= kFew && outer > 1 && row_bytes <= kShortRow)
    return select_from_slices(positions, count, axis_size, outer, x, out, row_bytes);
  // Threads share the pairs of a block of positions and a slice before the axis, in this order.
  constexpr std::int64_t kBlock = 4096;
  const std::int64_t block = std::min(kBlock, count), blocks = (count + block - 1) / block;
  parallel_for(blocks * outer, grain_for(row_elements * block), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i / outer * block, n = std::min(block, count - first), slice = i % outer;
      const RowCopy copy(x.data + slice * axis_size * row_bytes, out.data + (slice * count + first) * row_bytes,
                         row_bytes);
      positions.visit(first, [&](const auto* entries) { copy.rows(entries, n, 0); });
    }
  });
}

namespace {

/// Copies rows at lists of positions that repeat along axes. A list with one position for an inner row of the lists
/// adds its share once.
void index_by_repeated_lists(const KernelCall& c, const RowCopy& copy, std::int64_t row_elements) {
  const TensorView &x = c.in[0], &lists = c.in[1];
  const std::size_t indexed_axes = c.in.size() - 1;
  int inner = lists.rank - 1;
  while (inner > 0 && lists.size(inner) == 1) --inner;
  const std::int64_t length = lists.size(inner);
  struct List {
    Positions positions;
    CollapsedAxes outer;
    std::int64_t stride, size, scale;
  };
  std::vector<List> all;
  std::int64_t scale = 1;
  for (std::size_t k = indexed_axes; k-- > 0;) {
    const TensorView& v = c.in[k + 1];
    CollapsedAxes outer;
    for (int d = 0; d < inner; ++d) outer.add(v.size(d), v.stride(d));
    all.push_back({Positions(v), outer, v.stride(inner), x.size(static_cast<int>(k)), scale});
    scale *= x.size(static_cast<int>(k));
  }
  const std::int64_t cost = length * (row_elements + static_cast<std::int64_t>(indexed_axes));
  parallel_for(lists.numel() / length, grain_for(cost), [&](std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t kChunk = 512;
    std::int64_t rows[kChunk];
    for (std::int64_t row = begin; row < end; ++row) {
      std::int64_t start = 0;
      for (const List& l : all) {
        if (l.stride == 0) start += l.positions.wrapped(l.outer.offset(row), l.size) * l.scale;
      }
      for (std::int64_t first = 0; first < length; first += kChunk) {
        const std::int64_t count = std::min(kChunk, length - first);
        std::fill_n(rows, count, start);
        for (const List& l : all) {
          if (l.stride != 0)
            l.positions.add(l.outer.offset(row) + first * l.stride, l.stride, count, l.size, l.scale, rows);
        }
        copy.rows(rows, count, row * length + first);
      }
    }
  });
}

}  // namespace

void cpu_index(KernelCall& c) {
  const TensorView &x = c.in[0], &out = c.out[0];
  if (out.numel() == 0) return;
  const int indexed_axes = static_cast<int>(c.in.size()) - 1;
  std::vector<Positions> positions;
  for (int i = 0; i < indexed_axes; ++i) positions.emplace_back(c.in[static_cast<std::size_t>(i + 1)]);
  const std::int64_t row_elements = product_of_sizes(x, indexed_axes, x.rank);
  const RowCopy copy(x.data, out.data, row_elements * element_size(x.dtype));
  if (!std::ranges::all_of(c.in.subspan(1), &TensorView::contiguous))
    return index_by_repeated_lists(c, copy, row_elements);
  parallel_for(c.in[1].numel(), grain_for(row_elements * indexed_axes), [&](std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t kChunk = 512;
    std::int64_t rows[kChunk];
    for (std::int64_t first = begin; first < end; first += kChunk) {
      const std::int64_t count = std::min(kChunk, end - first);
      std::fill_n(rows, count, 0);
      for (int i = 0; i < indexed_axes; ++i)
        positions[static_cast<std::size_t>(i)].append(first, count, x.size(i), rows);
      copy.rows(rows, count, first);
    }
  });
}

}  // namespace tern
