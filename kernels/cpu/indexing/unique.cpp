// unique: groups equal elements or slices, by sorting or in runs of equal neighbours.
#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "kernels/cpu/indexing/indexing.h"
#include "kernels/cpu/reductions/order.h"
#include "kernels/cpu/reductions/radix_sort.h"
#include "kernels/cpu/strided.h"

namespace tern {
namespace {

/// Slices of x along an axis as rows of a table of L; without an axis, each element is a row.
template <class L>
struct SliceTable {
  std::vector<L> data;
  std::int64_t rows, width;

  const L* row(std::int64_t i) const { return data.data() + i * width; }
  bool equal(std::int64_t a, std::int64_t b) const { return std::equal(row(a), row(a) + width, row(b)); }
  bool less(std::int64_t a, std::int64_t b) const {
    for (std::int64_t i = 0; i < width; ++i) {
      const L x = row(a)[i], y = row(b)[i];
      if (ascends(x, y)) return true;
      if (ascends(y, x)) return false;
    }
    return false;
  }
};

template <class L>
SliceTable<L> table_of(const TensorView& x, int axis) {
  const std::int64_t numel = x.numel(), rows = axis < 0 ? numel : x.size(axis);
  SliceTable<L> t{std::vector<L>(static_cast<std::size_t>(numel)), rows, rows == 0 ? 0 : numel / rows};
  if (axis <= 0) {
    convert(x.data, x.dtype, t.data.data(), dtype_of_v<L>, numel);
    return t;
  }
  RunReader<L> reader(x.dtype);
  const CollapsedAxes across = axes_without(x, axis);
  const std::int64_t run = across.inner_size(), size = element_size(x.dtype);
  L* to = t.data.data();
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < t.width; j += run) {
      for (std::int64_t k = 0; k < run; k += kRun) {
        const std::int64_t n = std::min(kRun, run - k);
        const std::byte* at = x.data + (i * x.stride(axis) + across.offset(j + k)) * size;
        to = std::copy_n(reader.read(at, across.inner_stride(), n), n, to);
      }
    }
  }
  return t;
}

/// Sorts the numbers of rows of one element, equal elements in their order.
template <class L>
void sort_elements(const SliceTable<L>& table, std::vector<std::int64_t>& order) {
  const auto n = static_cast<std::int64_t>(order.size());
  if (n == 0) return;
  if (n > kMostRadixElements) {
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return table.less(a, b); });
    return;
  }
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max(), largest = 0;
  for (const L v : table.data) {
    const std::uint64_t key = radix_key(v);
    least = std::min(least, key);
    largest = std::max(largest, key);
  }
  const int bits = static_cast<int>(std::bit_width(largest - least));
  if (bits <= 32) {
    std::vector<PackedPosition> words(static_cast<std::size_t>(2 * n));
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint64_t key = radix_key(table.data[static_cast<std::size_t>(i)]);
      words[static_cast<std::size_t>(i)] = (key - least) << 32 | static_cast<std::uint64_t>(i);
    }
    const PackedPosition* sorted = radix_sort(words.data(), words.data() + n, n, bits);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(sorted[i] & 0xffffffff);
    return;
  }
  std::vector<KeyedPosition> pairs(static_cast<std::size_t>(2 * n));
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t key = radix_key(table.data[static_cast<std::size_t>(i)]);
    pairs[static_cast<std::size_t>(i)] = {key - least, i};
  }
  const KeyedPosition* sorted = radix_sort(pairs.data(), pairs.data() + n, n, bits);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = sorted[i].position;
}

/// Sorts the numbers of integers from a small range by counting. Returns false for other ranges.
template <class L>
bool count_sort_elements(const SliceTable<L>& table, std::vector<std::int64_t>& order) {
  if constexpr (std::is_integral_v<L>) {
    if (order.empty()) return true;
    const auto [least, largest] = std::minmax_element(table.data.begin(), table.data.end());
    const auto range = static_cast<std::uint64_t>(*largest) - static_cast<std::uint64_t>(*least);
    if (range > 4 * order.size() + 1024) return false;
    std::vector<std::size_t> starts(static_cast<std::size_t>(range) + 2);
    const auto bucket = [&, low = *least](L v) {
      return static_cast<std::size_t>(static_cast<std::uint64_t>(v) - static_cast<std::uint64_t>(low));
    };
    for (const L v : table.data) ++starts[bucket(v) + 1];
    for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
    for (std::size_t i = 0; i < order.size(); ++i)
      order[starts[bucket(table.data[i])]++] = static_cast<std::int64_t>(i);
    return true;
  }
  return false;
}

template <class L>
void sort_rows(const SliceTable<L>& table, std::vector<std::int64_t>& order) {
  if (table.width == 1) {
    if (!count_sort_elements(table, order)) sort_elements(table, order);
    return;
  }
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return table.less(a, b); });
}

void finish_counts(KernelCall& c, const std::vector<std::int64_t>& counts) {
  if (!c.wants_output(2)) return;
  c.allocator->allocate(2, std::vector<std::int64_t>{std::ssize(counts)}, &c.out[2]);
  std::copy(counts.begin(), counts.end(), c.out[2].data_as<std::int64_t>());
}

template <class L>
void unique(KernelCall& c) {
  const TensorView& x = c.in[0];
  const int axis = c.node->has(AttrKey::axis) ? axis_of(*c.node, x.rank) : -1;
  const SliceTable<L> table = table_of<L>(x, axis);
  std::vector<std::int64_t> order(static_cast<std::size_t>(table.rows));
  std::iota(order.begin(), order.end(), 0);
  if (c.node->integer(AttrKey::consecutive) == 0) {
    sort_rows(table, order);
  }
  std::vector<std::int64_t> first(order.size()), counts(order.size());
  std::size_t groups = 0;
  std::int64_t* const inverse = c.wants_output(1) ? c.out[1].data_as<std::int64_t>() : nullptr;
  const bool is_of_elements = table.width == 1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool is_equal = i > 0 && (is_of_elements ? *table.row(order[i - 1]) == *table.row(order[i])
                                                   : table.equal(order[i - 1], order[i]));
    // The next group begins here until an element differs: no branch.
    const std::size_t at = is_equal ? groups - 1 : groups;
    first[at] = is_equal ? first[at] : order[i];
    counts[at] = is_equal ? counts[at] : static_cast<std::int64_t>(i);
    groups = at + 1;
    if (inverse != nullptr) inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(at);
  }
  first.resize(groups);
  counts.resize(groups);
  // Starts of the groups become their sizes.
  for (std::size_t i = 0; i < counts.size(); ++i)
    counts[i] = (i + 1 < counts.size() ? counts[i + 1] : std::ssize(order)) - counts[i];
  const auto count = static_cast<std::int64_t>(first.size());
  std::vector<std::int64_t> sizes = {count};
  std::int64_t outer = 1, bytes = element_size(x.dtype);
  if (axis >= 0) {
    sizes.assign(x.shape().begin(), x.shape().end());
    sizes[static_cast<std::size_t>(axis)] = count;
    for (int i = 0; i < axis; ++i) outer *= x.size(i);
    for (int i = axis + 1; i < x.rank; ++i) bytes *= x.size(i);
  }
  c.allocator->set_symbol(0, count);
  c.allocator->allocate(0, sizes, &c.out[0]);
  const auto copy_elements = [&]<class T>(T) {
    for (std::size_t i = 0; i < first.size(); ++i) c.out[0].data_as<T>()[i] = x.data_as<const T>()[first[i]];
  };
  if (outer == 1 && bytes == 4) {
    copy_elements(std::uint32_t{});
    bytes = 0;
  } else if (outer == 1 && bytes == 8) {
    copy_elements(std::uint64_t{});
    bytes = 0;
  }
  for (std::int64_t o = 0; bytes > 0 && o < outer; ++o) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(c.out[0].data + (o * count + i) * bytes,
                  x.data + (o * table.rows + first[static_cast<std::size_t>(i)]) * bytes,
                  static_cast<std::size_t>(bytes));
    }
  }
  finish_counts(c, counts);
}

}  // namespace

void cpu_unique(KernelCall& c) {
  visit_real_compute(number_type(c.in[0].dtype), [&]<class L>(std::type_identity<L>) { unique<L>(c); });
}

}  // namespace tern
