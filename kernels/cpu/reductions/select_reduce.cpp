// max and min with positions, median, nanmedian, mode and kthvalue. Equal elements give the same positions as PyTorch's
// CPU kernels, since the algorithms agree.
#include <limits>

#include "kernels/cpu/reductions/order.h"
#include "kernels/cpu/reductions/radix_sort.h"
#include "kernels/cpu/reductions/reductions.h"
#include "kernels/cpu/reductions/row_loops.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/strided.h"
#include "schema/kinds.h"
#include "threads/parallel.h"

namespace tern {
namespace {

template <class L>
using Line = Keyed<L>*;

template <class L>
std::int64_t first_nan(Line<L> line, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (is_nan(line[i].value)) return i;
  }
  return -1;
}

template <class L>
std::int64_t median_of(Line<L> line, std::int64_t n, bool ignore_nan) {
  std::int64_t count = n;
  if (ignore_nan) {
    for (std::int64_t i = 0; i < n; ++i) count -= is_nan(line[i].value);
    count = std::max<std::int64_t>(count, 1);
  } else if (const std::int64_t nan = first_nan<L>(line, n); nan >= 0) {
    return nan;
  }
  const std::int64_t middle = (count - 1) / 2;
  std::nth_element(line, line + middle, line + n,
                   [](const Keyed<L>& a, const Keyed<L>& b) { return ascends(a.value, b.value); });
  return line[middle].index;
}

/// Finds the mode of a line whose keys have at most 32 bits, once `least` is subtracted, by a radix sort.
template <class L>
std::int64_t mode_by_keys(Line<L> line, std::int64_t n, std::uint64_t least) {
  auto* words = thread_buffer<PackedPosition>(static_cast<std::size_t>(2 * n), 1);
  for (std::int64_t i = 0; i < n; ++i)
    words[i] = (static_cast<std::uint64_t>(radix_key(line[i].value)) - least) << 32 | static_cast<std::uint64_t>(i);
  constexpr std::int64_t kFew = 64;
  PackedPosition* sorted = words;
  if (n < kFew) {
    std::sort(words, words + n);
  } else {
    sorted = radix_sort(words, words + n, n, 32);
  }
  std::int64_t best = 0, most = 0, run = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    ++run;
    if (i + 1 < n && sorted[i] >> 32 == sorted[i + 1] >> 32) continue;
    const auto last = static_cast<std::int64_t>(sorted[i] & 0xffffffff);
    // No NaN equals another.
    const bool is_unordered = is_nan(line[last].value);
    if ((is_unordered ? 1 : run) > most) {
      best = is_unordered ? static_cast<std::int64_t>(sorted[i - run + 1] & 0xffffffff) : last;
      most = is_unordered ? 1 : run;
    }
    run = 0;
  }
  return best;
}

template <class L>
std::int64_t mode_of(Line<L> line, std::int64_t n) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max(), largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t key = radix_key(line[i].value);
    least = std::min(least, key);
    largest = std::max(largest, key);
  }
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (largest - least <= kMost && n <= kMostRadixElements) return mode_by_keys<L>(line, n, least);
  std::sort(line, line + n, [](const Keyed<L>& a, const Keyed<L>& b) {
    return ascends(a.value, b.value) || (!ascends(b.value, a.value) && a.index < b.index);
  });
  std::int64_t best = 0, most = 0, run = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    ++run;
    if (i + 1 < n && line[i].value == line[i + 1].value) continue;
    if (run > most) {
      best = line[i].index;
      most = run;
    }
    run = 0;
  }
  return best;
}

/// Quickselect with a median-of-three pivot.
template <class L>
std::int64_t kth_of(Line<L> a, std::int64_t n, std::int64_t k) {
  std::int64_t left = 0, right = n - 1;
  const auto above = [&](std::int64_t i, std::int64_t j) { return descends(a[i].value, a[j].value); };
  while (right > left) {
    if (right == left + 1) {
      if (above(left, right)) std::swap(a[left], a[right]);
      break;
    }
    std::swap(a[left + (right - left) / 2], a[left + 1]);
    if (above(left + 1, right)) std::swap(a[left + 1], a[right]);
    if (above(left, right)) std::swap(a[left], a[right]);
    if (above(left + 1, left)) std::swap(a[left + 1], a[left]);
    std::int64_t i = left + 1, j = right;
    const L pivot = a[left].value;
    for (;;) {
      do ++i;
      while (descends(pivot, a[i].value));
      do --j;
      while (descends(a[j].value, pivot));
      if (j < i) break;
      std::swap(a[i], a[j]);
    }
    std::swap(a[left], a[j]);
    if (j <= k) left = i;
    if (j >= k) right = j - 1;
  }
  return a[k].index;
}

/// Finds the extremum of the n elements at `px`, `stride` apart: the first of equal ones, or the first NaN.
template <class L>
std::int64_t extremum_of_runs(RunReader<L>& reader, const std::byte* px, std::int64_t stride, std::int64_t size,
                              std::int64_t n, bool is_max) {
  std::int64_t place = 0;
  L best{};
  for (std::int64_t i = 0; i < n; i += kRun) {
    const std::int64_t m = std::min(kRun, n - i);
    const L* v = reader.read(px + i * stride * size, stride, m);
    L found = v[0];
    if constexpr (std::is_floating_point_v<L>) {
      const auto& loops = rows::loops<L>();
      found = (is_max ? loops.max_or_nan : loops.min_or_nan)(v, m);
      if (is_nan(found)) return i + (std::find_if(v, v + m, is_nan<L>) - v);
    } else {
      found = is_max ? *std::max_element(v, v + m) : *std::min_element(v, v + m);
    }
    if (i > 0 && !(is_max ? found > best : found < best)) continue;
    best = found;
    place = i + (std::find(v, v + m, found) - v);
  }
  return place;
}

/// Finds extrema of m <= kRun lines side by side, whose n elements lie `stride` apart: the first of equal ones, or the
/// first NaN. `places` are their numbers in the lines.
template <class L>
void extrema_of_columns(RunReader<L>& reader, const std::byte* px, std::int64_t stride, std::int64_t size,
                        std::int64_t n, std::int64_t m, bool is_max, L* extrema, std::int64_t* places) {
  std::copy_n(reader.read(px, 1, m), m, extrema);
  std::fill_n(places, m, 0);
  for (std::int64_t i = 1; i < n; ++i) {
    const L* v = reader.read(px + i * stride * size, 1, m);
    visit_cpu_level([&](auto) __attribute__((always_inline)) {
#pragma omp simd
      for (std::int64_t j = 0; j < m; ++j) {
        const bool is_beyond = is_max ? v[j] > extrema[j] : v[j] < extrema[j],
                   is_first_nan = (static_cast<int>(is_nan(v[j])) & static_cast<int>(!is_nan(extrema[j]))) != 0,
                   replaces = (static_cast<int>(is_beyond) | static_cast<int>(is_first_nan)) != 0;
        extrema[j] = replaces ? v[j] : extrema[j];
        places[j] = replaces ? i : places[j];
      }
    });
  }
}

template <class L>
std::int64_t select(SelectKind kind, Line<L> line, std::int64_t n, std::int64_t k) {
  switch (kind) {
    case SelectKind::median: return median_of<L>(line, n, false);
    case SelectKind::nanmedian: return median_of<L>(line, n, true);
    case SelectKind::mode: return mode_of<L>(line, n);
    case SelectKind::max:
    case SelectKind::min:
    case SelectKind::kthvalue: break;
  }
  return kth_of<L>(line, n, k - 1);
}

}  // namespace

void cpu_select_reduce(KernelCall& c) {
  constexpr std::int64_t kLeastColumns = 4;
  const TensorView& x = c.in[0];
  const auto kind = static_cast<SelectKind>(c.node->integer(AttrKey::kind));
  const int axis = axis_of(*c.node, x.rank);
  const std::int64_t n = x.size(axis), xs = x.stride(axis), size = element_size(x.dtype);
  const std::int64_t k = c.node->integer(AttrKey::k);
  const CollapsedAxes from = axes_without(x, axis);
  if (n == 0 && from.count > 0) fail(ErrorCode::runtime, "an axis without elements cannot be selected from");
  const bool is_extremum = kind == SelectKind::max || kind == SelectKind::min;
  const bool lies_in_columns = is_extremum && n > 0 && xs != 1 && from.rank > 0 && from.inner_stride() == 1 &&
                               from.inner_size() >= kLeastColumns;
  visit_real_compute(number_type(x.dtype), [&]<class L>(std::type_identity<L>) {
    parallel_for(from.count, grain_for(n * 4), [&](std::int64_t begin, std::int64_t end) {
      RunReader<L> reader(x.dtype);
      auto* line = thread_buffer<Keyed<L>>(static_cast<std::size_t>(n));
      std::int64_t m = 1;
      for (std::int64_t t = begin; t < end; t += m) {
        const std::byte* px = x.data + from.offset(t) * size;
        std::int64_t at = 0;
        if (lies_in_columns) {
          L extrema[kRun];
          std::int64_t places[kRun];
          m = std::min({kRun, from.inner_size() - t % from.inner_size(), end - t});
          extrema_of_columns(reader, px, xs, size, n, m, kind == SelectKind::max, extrema, places);
          if (c.wants_output(0)) convert(extrema, dtype_of_v<L>, c.out[0].data + t * size, x.dtype, m);
          if (c.wants_output(1)) std::copy_n(places, m, c.out[1].data_as<std::int64_t>() + t);
          continue;
        }
        if (is_extremum) {
          at = extremum_of_runs(reader, px, xs, size, n, kind == SelectKind::max);
        } else {
          for (std::int64_t i = 0; i < n; i += kRun) {
            const std::int64_t count = std::min(kRun, n - i);
            const L* v = reader.read(px + i * xs * size, xs, count);
            for (std::int64_t j = 0; j < count; ++j) line[i + j] = {v[j], i + j};
          }
          at = select<L>(kind, line, n, k);
        }
        if (c.wants_output(0))
          std::memcpy(c.out[0].data + t * size, px + at * xs * size, static_cast<std::size_t>(size));
        if (c.wants_output(1)) c.out[1].data_as<std::int64_t>()[t] = at;
      }
    });
  });
}

}  // namespace tern
