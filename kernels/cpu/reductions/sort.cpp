// sort and topk: sort each line with positions; values are copied from their sources.
#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include "kernels/cpu/reductions/order.h"
#include "kernels/cpu/reductions/reductions.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/strided.h"
#include "threads/parallel.h"

namespace tern {
namespace {

/// Sorts no line.
constexpr auto kNoValues = [](const std::byte*, std::int64_t, std::int64_t, std::byte*) { return false; };

/// Calls arrange(line, n) for each line along the axis and writes the first `k` elements. Calls values(x, stride, n,
/// sorted) first if only values are read; it returns true if it has sorted them.
template <class L, class Arrange, class Values>
void arrange_lines(KernelCall& c, std::int64_t k, Arrange arrange, Values values) {
  const TensorView& x = c.in[0];
  const TensorView& shape = c.wants_output(0) ? c.out[0] : c.out[1];
  const int axis = axis_of(*c.node, x.rank);
  const std::int64_t n = x.size(axis), xs = x.stride(axis), size = element_size(x.dtype);
  if (k == 0 || shape.numel() == 0) return;
  const CollapsedAxes from = axes_without(x, axis), to = axes_without(shape, axis);
  const std::int64_t ys = shape.stride(axis);
  parallel_for(from.count, grain_for(n * 8), [&](std::int64_t begin, std::int64_t end) {
    RunReader<L> reader(x.dtype);
    auto* line = thread_buffer<Keyed<L>>(static_cast<std::size_t>(n));
    auto* sorted = thread_buffer<std::byte>(static_cast<std::size_t>(k * size), 1);
    for (std::int64_t t = begin; t < end; ++t) {
      const std::byte* px = x.data + from.offset(t) * size;
      if (!c.wants_output(1) && values(px, xs, n, sorted)) {
        scatter_run(sorted, c.out[0].data + to.offset(t) * size, ys, k, static_cast<int>(size));
        continue;
      }
      for (std::int64_t i = 0; i < n; i += kRun) {
        const std::int64_t m = std::min(kRun, n - i);
        const L* v = reader.read(px + i * xs * size, xs, m);
        for (std::int64_t j = 0; j < m; ++j) line[i + j] = {v[j], i + j};
      }
      arrange(line, n);
      const std::int64_t o = to.offset(t);
      for (std::int64_t i = 0; i < k; ++i) {
        std::memcpy(sorted + i * size, px + line[i].index * xs * size, static_cast<std::size_t>(size));
        if (c.wants_output(1)) c.out[1].data_as<std::int64_t>()[o + i * ys] = line[i].index;
      }
      if (c.wants_output(0)) scatter_run(sorted, c.out[0].data + o * size, ys, k, static_cast<int>(size));
    }
  });
}

/// Order of equal elements: any (only values are read), PyTorch's, or by position.
enum class TieOrder { unspecified, as_pytorch, stable };

/// Bits of a float in ascending order, NaN last; all zeros are equal, and so are all NaN.
std::uint32_t ordered_bits(float x) {
  if (is_nan(x)) return ~std::uint32_t{0};
  const auto bits = std::bit_cast<std::uint32_t>(x == 0 ? 0.0F : x);
  return bits ^ ((bits >> 31) != 0 ? ~std::uint32_t{0} : std::uint32_t{1} << 31);
}

/// Sorts the positions of a line by its values, a byte at a time; the values of the line are not moved. Returns false,
/// with the line unchanged, if equal elements have another order in PyTorch.
template <bool kDescending>
bool radix_sort_positions(Keyed<float>* line, std::int64_t n, TieOrder order) {
  constexpr int kDigits = 4, kDigitBits = 8, kBuckets = 1 << kDigitBits;
  auto* items = thread_buffer<std::uint64_t>(static_cast<std::size_t>(2 * n), 2);
  std::uint64_t *from = items, *to = items + n;
  std::uint32_t starts[kDigits][kBuckets] = {};
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t bits = ordered_bits(line[i].value), key = kDescending ? ~bits : bits;
    from[i] = std::uint64_t{key} << 32 | static_cast<std::uint32_t>(i);
    for (int digit = 0; digit < kDigits; ++digit) ++starts[digit][key >> (digit * kDigitBits) & (kBuckets - 1)];
  }
  for (int digit = 0; digit < kDigits; ++digit) {
    std::uint32_t sum = 0;
    for (std::uint32_t& start : starts[digit]) sum += std::exchange(start, sum);
    for (std::int64_t i = 0; i < n; ++i)
      to[starts[digit][from[i] >> (32 + digit * kDigitBits) & (kBuckets - 1)]++] = from[i];
    std::swap(from, to);
  }
  const std::uint32_t zero = kDescending ? ~ordered_bits(0) : ordered_bits(0),
                      nan = kDescending ? 0 : ~std::uint32_t{0};
  for (std::int64_t i = 1; i < n && order != TieOrder::stable; ++i) {
    const auto key = static_cast<std::uint32_t>(from[i] >> 32);
    const bool is_tie = key == from[i - 1] >> 32;
    // Zeros of both signs and NaN are equal, yet their bits differ.
    if (is_tie && (order == TieOrder::as_pytorch || key == zero || key == nan)) return false;
  }
  for (std::int64_t i = 0; i < n; ++i) line[i].index = static_cast<std::uint32_t>(from[i]);
  return true;
}

/// Sorts keys a byte at a time; returns the sorted ones, in `keys` or `spare`.
std::uint32_t* radix_sort_keys(std::uint32_t* keys, std::uint32_t* spare, std::int64_t n) {
  constexpr int kDigits = 4, kDigitBits = 8, kBuckets = 1 << kDigitBits;
  std::uint32_t starts[kDigits][kBuckets] = {};
  for (std::int64_t i = 0; i < n; ++i) {
    for (int digit = 0; digit < kDigits; ++digit) ++starts[digit][keys[i] >> (digit * kDigitBits) & (kBuckets - 1)];
  }
  for (int digit = 0; digit < kDigits; ++digit) {
    std::uint32_t sum = 0;
    for (std::uint32_t& start : starts[digit]) sum += std::exchange(start, sum);
    for (std::int64_t i = 0; i < n; ++i)
      spare[starts[digit][keys[i] >> (digit * kDigitBits) & (kBuckets - 1)]++] = keys[i];
    std::swap(keys, spare);
  }
  return keys;
}

/// Sorts the values of a line by their bits. Returns false for a line with NaN or a negative zero, whose order has
/// further rules.
template <bool kDescending>
bool sort_float_values(const std::byte* x, std::int64_t stride, std::int64_t n, std::byte* sorted) {
  constexpr std::int64_t kFewest = 256, kMost = std::int64_t{1} << 31;
  if (n >= kMost) return false;
  const auto* from = reinterpret_cast<const float*>(x);
  auto* keys = thread_buffer<std::uint32_t>(static_cast<std::size_t>(2 * n), 2);
  bool is_plain = true;
  for (std::int64_t i = 0; i < n; ++i) {
    const float v = from[i * stride];
    const auto bits = std::bit_cast<std::uint32_t>(v);
    is_plain &= v == v && bits != std::uint32_t{1} << 31;
    const std::uint32_t key = bits ^ ((bits >> 31) != 0 ? ~std::uint32_t{0} : std::uint32_t{1} << 31);
    keys[i] = kDescending ? ~key : key;
  }
  if (!is_plain) return false;
  if (n < kFewest) {
    std::sort(keys, keys + n);
  } else {
    keys = radix_sort_keys(keys, keys + n, n);
  }
  auto* to = reinterpret_cast<float*>(sorted);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t key = kDescending ? ~keys[i] : keys[i];
    to[i] = std::bit_cast<float>(key ^ ((key >> 31) != 0 ? std::uint32_t{1} << 31 : ~std::uint32_t{0}));
  }
  return true;
}

/// True if the positions of the line have been sorted by radix_sort_positions.
template <class L, bool kDescending>
bool radix_sorted(Keyed<L>* line, std::int64_t n, TieOrder order) {
  constexpr std::int64_t kMin = 128, kMax = std::int64_t{1} << 31;
  if constexpr (std::is_same_v<L, float>)
    return n >= kMin && n < kMax && radix_sort_positions<kDescending>(line, n, order);
  return false;
}

/// Sorts by value alone, with the algorithm of PyTorch's CPU kernel: equal elements get the same order.
template <class L, bool kDescending>
void sort_line(Keyed<L>* line, std::int64_t n) {
  std::sort(line, line + n, [](const Keyed<L>& a, const Keyed<L>& b) {
    return kDescending ? descends(a.value, b.value) : ascends(a.value, b.value);
  });
}

// Breaks ties by position: the order of a stable sort without its memory.
template <class L, bool kDescending>
bool comes_before(const Keyed<L>& a, const Keyed<L>& b) {
  if (kDescending ? descends(a.value, b.value) : ascends(a.value, b.value)) return true;
  if (kDescending ? descends(b.value, a.value) : ascends(b.value, a.value)) return false;
  return a.index < b.index;
}
template <class L, bool kDescending>
void stable_sort_line(Keyed<L>* line, std::int64_t n) {
  std::sort(line, line + n, [](const Keyed<L>& a, const Keyed<L>& b) { return comes_before<L, kDescending>(a, b); });
}
/// Moves the first `k` elements of the stable order to the front.
template <class L, bool kDescending>
void stable_top_of_line(Keyed<L>* line, std::int64_t n, std::int64_t k) {
  std::partial_sort(line, line + k, line + n,
                    [](const Keyed<L>& a, const Keyed<L>& b) { return comes_before<L, kDescending>(a, b); });
}

/// Runs the algorithms of PyTorch's CPU kernel, by value alone: ties get the same order.
template <class L, bool kLargest>
void top_of_line(Keyed<L>* line, std::int64_t n, std::int64_t k) {
  const auto before = [](const Keyed<L>& a, const Keyed<L>& b) {
    return kLargest ? descends(a.value, b.value) : ascends(a.value, b.value);
  };
  if (k * 64 <= n) {
    std::partial_sort(line, line + k, line + n, before);
  } else {
    std::nth_element(line, line + k - 1, line + n, before);
    std::sort(line, line + k - 1, before);
  }
}

}  // namespace

namespace {

void sort(KernelCall& c, bool stable) {
  const std::int64_t n = c.in[0].size(axis_of(*c.node, c.in[0].rank));
  const bool descending = c.node->integer(AttrKey::descending) != 0;
  visit_real_compute(number_type(c.in[0].dtype), [&]<class L>(std::type_identity<L>) {
    const TieOrder order = stable ? TieOrder::stable : c.wants_output(1) ? TieOrder::as_pytorch : TieOrder::unspecified;
    const auto values = [&](const std::byte* x, std::int64_t stride, std::int64_t size, std::byte* sorted) {
      if (c.in[0].dtype != DType::f32) return false;
      return descending ? sort_float_values<true>(x, stride, size, sorted)
                        : sort_float_values<false>(x, stride, size, sorted);
    };
    const auto arrange = [&](Keyed<L>* line, std::int64_t size) {
      if (descending ? radix_sorted<L, true>(line, size, order) : radix_sorted<L, false>(line, size, order)) return;
      if (stable) {
        descending ? stable_sort_line<L, true>(line, size) : stable_sort_line<L, false>(line, size);
      } else {
        descending ? sort_line<L, true>(line, size) : sort_line<L, false>(line, size);
      }
    };
    arrange_lines<L>(c, n, arrange, values);
  });
}

void topk(KernelCall& c, bool stable) {
  const std::int64_t k = c.node->integer(AttrKey::k);
  const bool largest = c.node->integer(AttrKey::largest) != 0;
  visit_real_compute(number_type(c.in[0].dtype), [&]<class L>(std::type_identity<L>) {
    void (*const top)(Keyed<L>*, std::int64_t, std::int64_t) =
        stable ? (largest ? stable_top_of_line<L, true> : stable_top_of_line<L, false>)
               : (largest ? top_of_line<L, true> : top_of_line<L, false>);
    arrange_lines<L>(
        c, k, [&](Keyed<L>* line, std::int64_t n) { top(line, n, k); }, kNoValues);
  });
}

}  // namespace

void cpu_sort(KernelCall& c) {
  sort(c, c.node->integer(AttrKey::stable) != 0);
}
void cpu_topk(KernelCall& c) {
  topk(c, false);
}
void cpu_stable_sort(KernelCall& c) {
  sort(c, true);
}
void cpu_stable_topk(KernelCall& c) {
  topk(c, true);
}

}  // namespace tern
