// searchsorted: binary searches of several values at once, in steps without branches.
#include <algorithm>
#include <bit>
#include <limits>

#include "dtypes/levels.h"
#include "kernels/cpu/accumulate.h"
#include "kernels/cpu/indexing/indexing.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/strided.h"
#include "threads/parallel.h"

namespace tern {
namespace {

constexpr std::int64_t kSearches = 64;  // together

/// Finds the places of `count` values among the n elements of a sorted line, n > 0. The steps visit the elements that a
/// search of one value visits, so unsorted lines give the same places.
template <bool kRight, class L>
void search_line(const L* line, std::int32_t n, const L* values, std::int64_t count, std::int32_t* low) {
  visit_cpu_level([&](auto) __attribute__((always_inline)) {
    std::int32_t length[kSearches];
    for (std::int64_t j = 0; j < kSearches; ++j) {
      low[j] = 0;
      length[j] = n;
    }
    for (auto steps = std::bit_width(static_cast<std::uint32_t>(n)); steps > 0; --steps) {
#pragma omp simd
      for (std::int64_t j = 0; j < count; ++j) {
        const std::int32_t half = length[j] / 2, middle = low[j] + half;
        const L s = line[middle < n ? middle : n - 1], v = values[j];
        // The negated form moves NaN, as a value or in the line, to the end.
        const std::int32_t is_after = static_cast<std::int32_t>(kRight ? s > v : s >= v),
                           is_open = static_cast<std::int32_t>(length[j] > 0), left = length[j] - half - 1;
        low[j] = (is_open & ~is_after) != 0 ? middle + 1 : low[j];
        length[j] = is_after != 0 ? half : left > 0 ? left : 0;
      }
    }
  });
}

/// True if each element is at least the one before it, so that all ways to search find the same place.
template <class L>
bool is_sorted_line(const L* line, std::int64_t n) {
  if (is_nan(line[0])) return false;
  for (std::int64_t i = 1; i < n; ++i) {
    if (!(line[i - 1] <= line[i])) return false;
  }
  return true;
}

/// True if a value belongs behind element s; NaN belongs behind all.
template <bool kRight, class L>
[[gnu::always_inline]] inline bool is_behind(L s, L v) {
  return !(kRight ? s > v : s >= v);
}

constexpr std::int64_t kCountedLine = 48;  // elements of a line that is compared whole

template <bool kRight, class L>
void count_line(const L* line, std::int32_t n, const L* values, std::int64_t count, std::int32_t* low) {
  visit_cpu_level([&](auto) __attribute__((always_inline)) {
    for (std::int32_t i = 0; i < n; ++i) {
      const L s = line[i];
#pragma omp simd
      for (std::int64_t j = 0; j < count; ++j) low[j] += static_cast<std::int32_t>(is_behind<kRight>(s, values[j]));
    }
  });
}

/// The same for sorted lines: a few floats or int64 are counted; else all values take the same steps.
template <bool kRight, class L>
void search_sorted_line(const L* line, std::int32_t n, const L* values, std::int64_t count, std::int32_t* low) {
  std::fill_n(low, kSearches, 0);
  constexpr bool kIsCommon = std::is_same_v<L, float> || std::is_same_v<L, std::int64_t>;
  if constexpr (kIsCommon) {
    if (n <= kCountedLine) return count_line<kRight>(line, n, values, count, low);
  }
  for (std::int32_t length = n; length > 0;) {
    const std::int32_t half = (length + 1) / 2;
    for (std::int64_t j = 0; j < count; ++j)
      low[j] += half * static_cast<std::int32_t>(is_behind<kRight>(line[low[j] + half - 1], values[j]));
    length -= half;
  }
}

template <class L>
void search(const KernelCall& c) {
  const TensorView &sorted = c.in[0], &values = c.in[1], &out = c.out[0];
  const std::int64_t n = sorted.size(sorted.rank - 1), count = values.numel(),
                     per_line = sorted.rank > 1 ? values.size(values.rank - 1) : count;
  const bool is_right = c.node->integer(AttrKey::right) != 0;
  std::vector<L> own;
  const L* lines = sorted.data_as<const L>();
  if (sorted.dtype != dtype_of_v<L>) {
    own.resize(static_cast<std::size_t>(sorted.numel()));
    convert(sorted.data, sorted.dtype, own.data(), dtype_of_v<L>, sorted.numel());
    lines = own.data();
  }
  std::vector<char> is_sorted(static_cast<std::size_t>(sorted.numel() / n));
  // A look at all elements pays if as many are searched for.
  for (std::size_t line = 0; line < is_sorted.size() && count >= sorted.numel(); ++line)
    is_sorted[line] = static_cast<char>(is_sorted_line(lines + static_cast<std::int64_t>(line) * n, n));
  const std::int64_t blocks = (per_line + kSearches - 1) / kSearches, value_size = element_size(values.dtype);
  parallel_for(count / per_line * blocks, grain_for(kSearches * 16), [&](std::int64_t begin, std::int64_t end) {
    RunReader<L> reader(values.dtype);
    std::int32_t places[kSearches];
    std::int64_t wide[kSearches];
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t line = i / blocks, at = line * per_line + i % blocks * kSearches,
                         m = std::min(kSearches, (line + 1) * per_line - at);
      const L* v = reader.read(values.data + at * value_size, 1, m);
      const L* from = lines + line * n;
      const auto search = is_sorted[static_cast<std::size_t>(line)] != 0
                              ? (is_right ? search_sorted_line<true, L> : search_sorted_line<false, L>)
                              : (is_right ? search_line<true, L> : search_line<false, L>);
      search(from, static_cast<std::int32_t>(n), v, m, places);
      std::copy_n(places, m, wide);
      convert(wide, DType::i64, out.data + at * element_size(out.dtype), out.dtype, m);
    }
  });
}

}  // namespace

bool cpu_serves_searchsorted(const KernelCall& c) {
  const std::int64_t n = c.in[0].rank == 0 ? 0 : c.in[0].size(c.in[0].rank - 1);
  return !c.has_input(2) && n > 0 && n <= std::numeric_limits<std::int32_t>::max() / 2;
}

void cpu_searchsorted(KernelCall& c) {
  if (c.in[1].numel() == 0) return;
  visit_real_compute(number_type(c.in[0].dtype), [&]<class L>(std::type_identity<L>) { search<L>(c); });
}

}  // namespace tern
