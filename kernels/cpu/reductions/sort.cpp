// sort and topk: sort each line with positions; values are copied from their sources.
#include "kernels/cpu/reductions/order.h"
#include "kernels/cpu/reductions/reductions.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/strided.h"
#include "threads/parallel.h"

namespace tern {
namespace {

/// Calls arrange(line, n) for each line along the axis and writes the first `k` elements.
template <class L, class Arrange>
void arrange_lines(KernelCall& c, std::int64_t k, Arrange arrange) {
  const TensorView& x = c.in[0];
  const TensorView& shape = c.wants(0) ? c.out[0] : c.out[1];
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
      for (std::int64_t i = 0; i < n; i += kRun) {
        const std::int64_t m = std::min(kRun, n - i);
        const L* v = reader.read(px + i * xs * size, xs, m);
        for (std::int64_t j = 0; j < m; ++j) line[i + j] = {v[j], i + j};
      }
      arrange(line, n);
      const std::int64_t o = to.offset(t);
      for (std::int64_t i = 0; i < k; ++i) {
        std::memcpy(sorted + i * size, px + line[i].index * xs * size, static_cast<std::size_t>(size));
        if (c.wants(1)) c.out[1].as<std::int64_t>()[o + i * ys] = line[i].index;
      }
      if (c.wants(0)) scatter_run(sorted, c.out[0].data + o * size, ys, k, static_cast<int>(size));
    }
  });
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
    if (stable) {
      arrange_lines<L>(c, n, descending ? stable_sort_line<L, true> : stable_sort_line<L, false>);
    } else {
      arrange_lines<L>(c, n, descending ? sort_line<L, true> : sort_line<L, false>);
    }
  });
}

void topk(KernelCall& c, bool stable) {
  const std::int64_t k = c.node->integer(AttrKey::k);
  const bool largest = c.node->integer(AttrKey::largest) != 0;
  visit_real_compute(number_type(c.in[0].dtype), [&]<class L>(std::type_identity<L>) {
    void (*const top)(Keyed<L>*, std::int64_t, std::int64_t) =
        stable ? (largest ? stable_top_of_line<L, true> : stable_top_of_line<L, false>)
               : (largest ? top_of_line<L, true> : top_of_line<L, false>);
    arrange_lines<L>(c, k, [&](Keyed<L>* line, std::int64_t n) { top(line, n, k); });
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
