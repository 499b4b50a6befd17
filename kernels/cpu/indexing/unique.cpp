// unique: groups equal elements or slices, by sorting or in runs of equal neighbours.
#include <algorithm>
#include <numeric>

#include "kernels/cpu/indexing/indexing.h"
#include "kernels/cpu/reductions/order.h"
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

/// Sorts the numbers of rows of one element: pairs of element and number need no look-ups.
template <class L>
void sort_elements(const SliceTable<L>& table, std::vector<std::int64_t>& order) {
  std::vector<std::pair<L, std::int64_t>> pairs(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) pairs[i] = {table.data[i], static_cast<std::int64_t>(i)};
  std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
    if (ascends(a.first, b.first)) return true;
    return !ascends(b.first, a.first) && a.second < b.second;
  });
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = pairs[i].second;
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
  std::vector<std::int64_t> first, inverse(order.size()), counts;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || !table.equal(order[i - 1], order[i])) {
      first.push_back(order[i]);
      counts.push_back(0);
    }
    inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(first.size()) - 1;
    ++counts.back();
  }
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
  for (std::int64_t o = 0; bytes > 0 && o < outer; ++o) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(c.out[0].data + (o * count + i) * bytes,
                  x.data + (o * table.rows + first[static_cast<std::size_t>(i)]) * bytes,
                  static_cast<std::size_t>(bytes));
    }
  }
  if (c.wants(1)) std::copy(inverse.begin(), inverse.end(), c.out[1].as<std::int64_t>());
  if (c.wants(2)) {
    c.allocator->allocate(2, std::vector<std::int64_t>{count}, &c.out[2]);
    std::copy(counts.begin(), counts.end(), c.out[2].as<std::int64_t>());
  }
}

}  // namespace

void cpu_unique(KernelCall& c) {
  visit_real_compute(number_type(c.in[0].dtype), [&]<class L>(std::type_identity<L>) { unique<L>(c); });
}

}  // namespace tern
