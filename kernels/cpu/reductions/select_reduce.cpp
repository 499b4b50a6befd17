// max and min with positions, median, nanmedian, mode and kthvalue. Equal elements give the same positions as PyTorch's
// CPU kernels, since the algorithms agree.
#include "kernels/cpu/reductions/order.h"
#include "kernels/cpu/reductions/reductions.h"
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

template <class L>
std::int64_t mode_of(Line<L> line, std::int64_t n) {
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

template <class L, bool kMax>
std::int64_t extremum_of(Line<L> line, std::int64_t n) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < n && !is_nan(line[best].value); ++i) {
    const L v = line[i].value, b = line[best].value;
    if ((kMax ? v > b : v < b) || is_nan(v)) best = i;
  }
  return best;
}

template <class L>
std::int64_t select(SelectKind kind, Line<L> line, std::int64_t n, std::int64_t k) {
  switch (kind) {
    case SelectKind::max: return extremum_of<L, true>(line, n);
    case SelectKind::min: return extremum_of<L, false>(line, n);
    case SelectKind::median: return median_of<L>(line, n, false);
    case SelectKind::nanmedian: return median_of<L>(line, n, true);
    case SelectKind::mode: return mode_of<L>(line, n);
    case SelectKind::kthvalue: break;
  }
  return kth_of<L>(line, n, k - 1);
}

}  // namespace

void cpu_select_reduce(KernelCall& c) {
  const TensorView& x = c.in[0];
  const auto kind = static_cast<SelectKind>(c.node->integer(AttrKey::kind));
  const int axis = axis_of(*c.node, x.rank);
  const std::int64_t n = x.size(axis), xs = x.stride(axis), size = element_size(x.dtype);
  const std::int64_t k = c.node->integer(AttrKey::k);
  const CollapsedAxes from = axes_without(x, axis);
  if (n == 0 && from.count > 0) fail(ErrorCode::runtime, "an axis without elements cannot be selected from");
  visit_real_compute(number_type(x.dtype), [&]<class L>(std::type_identity<L>) {
    parallel_for(from.count, grain_for(n * 4), [&](std::int64_t begin, std::int64_t end) {
      RunReader<L> reader(x.dtype);
      auto* line = thread_buffer<Keyed<L>>(static_cast<std::size_t>(n));
      for (std::int64_t t = begin; t < end; ++t) {
        const std::byte* px = x.data + from.offset(t) * size;
        for (std::int64_t i = 0; i < n; i += kRun) {
          const std::int64_t m = std::min(kRun, n - i);
          const L* v = reader.read(px + i * xs * size, xs, m);
          for (std::int64_t j = 0; j < m; ++j) line[i + j] = {v[j], i + j};
        }
        const std::int64_t at = select<L>(kind, line, n, k);
        if (c.wants(0)) std::memcpy(c.out[0].data + t * size, px + at * xs * size, static_cast<std::size_t>(size));
        if (c.wants(1)) c.out[1].as<std::int64_t>()[t] = at;
      }
    });
  });
}

}  // namespace tern
