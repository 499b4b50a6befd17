// max, min, argmax and argmin. NaN wins.
#include <algorithm>
#include <limits>

#include "dtypes/levels.h"
#include "kernels/cpu/accumulate.h"
#include "kernels/cpu/reductions/reduce.h"
#include "kernels/cpu/reductions/row_loops.h"
#include "schema/kinds.h"

namespace tern {
namespace {

template <class L, bool kMax>
constexpr bool beats(L a, L b) {
  return kMax ? a > b : a < b;
}

template <class L, bool kMax>
constexpr L worst() {
  using N = std::numeric_limits<L>;
  if constexpr (N::has_infinity) return kMax ? -N::infinity() : N::infinity();
  return kMax ? N::lowest() : N::max();
}

template <class L, bool kMax>
L better(L a, L b) {
  return beats<L, kMax>(b, a) ? b : a;
}

/// Returns the best of n elements; the first NaN if any.
template <class L, bool kMax>
L best_of(const L* v, std::int64_t n) {
  if constexpr (std::is_floating_point_v<L>) {
    const auto& r = rows::loops<L>();
    const L best = (kMax ? r.max_or_nan : r.min_or_nan)(v, n);
    return is_nan(best) ? *std::find_if(v, v + n, is_nan<L>) : best;
  } else {
    constexpr std::int64_t kLanes = 16;
    L lanes[kLanes];
    std::fill_n(lanes, kLanes, worst<L, kMax>());
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (std::int64_t j = 0; j < kLanes; ++j) lanes[j] = better<L, kMax>(lanes[j], v[i + j]);
    }
    for (; i < n; ++i) lanes[0] = better<L, kMax>(lanes[0], v[i]);
    for (L lane : lanes) lanes[0] = better<L, kMax>(lanes[0], lane);
    return lanes[0];
  }
}

template <class L, bool kMax>
struct Extremum {
  using Acc = L;
  using Result = L;

  // NaN beats every number and stays. No ||, so loops need no branch.
  static L join(L a, L b) {
    return (static_cast<int>(beats<L, kMax>(b, a)) | static_cast<int>(is_nan(b))) != 0 ? b : a;
  }
  Acc identity() const { return worst<L, kMax>(); }
  void add_run(Acc& acc, const L* v, std::int64_t n, std::int64_t) const { acc = join(acc, best_of<L, kMax>(v, n)); }
  void add_each(Acc* acc, const L* v, std::int64_t n, std::int64_t) const {
    visit_cpu_level([&](auto) __attribute__((always_inline)) {
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) acc[i] = join(acc[i], v[i]);
    });
  }
  void add_rows(Acc* acc, const L* v, std::int64_t row, std::int64_t rows,
                std::int64_t n) const requires std::is_same_v<L, float> {
    visit_cpu_level([&](auto) __attribute__((always_inline)) {
      for (; rows > 1; rows -= 2, v += 2 * row) {
#pragma omp simd
        for (std::int64_t i = 0; i < n; ++i) {
          const L first = join(acc[i], v[i]);
          acc[i] = join(first, v[i + row]);
        }
      }
      if (rows == 0) return;
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) acc[i] = join(acc[i], v[i]);
    });
  }
  void merge(Acc& acc, const Acc& later) const {
    acc = join(acc, later);
  }
  Result finish(const Acc& acc, std::int64_t) const {
    return acc;
  }
};

template <class L, bool kMax>
struct ExtremeIndex {
  struct Acc {
    L value;
    std::int64_t index;  ///< -1: empty
  };
  using Result = std::int64_t;
  static constexpr bool kReadsRow = true;

  static bool replaces(L v, const Acc& acc) {
    return acc.index < 0 || (!is_nan(acc.value) && (beats<L, kMax>(v, acc.value) || is_nan(v)));
  }
  Acc identity() const { return {worst<L, kMax>(), -1}; }
  void add_run(Acc& acc, const L* v, std::int64_t n, std::int64_t first) const {
    const L best = best_of<L, kMax>(v, n);
    if (!replaces(best, acc)) return;
    const L* at = is_nan(best) ? std::find_if(v, v + n, is_nan<L>) : std::find(v, v + n, best);
    acc = {best, first + (at - v)};
  }
  void add_each(Acc* acc, const L* v, std::int64_t n, std::int64_t row) const {
    for (std::int64_t i = 0; i < n; ++i) {
      if (replaces(v[i], acc[i])) acc[i] = {v[i], row};
    }
  }
  void merge(Acc& acc, const Acc& later) const {
    if (later.index >= 0 && replaces(later.value, acc)) acc = later;
  }
  Result finish(const Acc& acc, std::int64_t) const { return acc.index; }
};

void require_elements(const ReductionAxes& axes, const char* what) {
  if (axes.reduced.count == 0 && axes.retained.count > 0) {
    fail(ErrorCode::runtime, std::string(what) + " of no elements has no value");
  }
}

bool is_kind(const KernelCall& c, ReduceKind kind) {
  return static_cast<ReduceKind>(c.node->integer(AttrKey::kind)) == kind;
}

}  // namespace

void reduce_extremum(KernelCall& c, const ReductionAxes& axes) {
  require_elements(axes, "the largest or smallest");
  visit_real_compute(number_type(c.in[0].dtype), [&]<class L>(std::type_identity<L>) {
    is_kind(c, ReduceKind::max) ? run_reduce<L>(c, axes, Extremum<L, true>{})
                                : run_reduce<L>(c, axes, Extremum<L, false>{});
  });
}

void reduce_argument(KernelCall& c, const ReductionAxes& axes) {
  require_elements(axes, "the position of the largest or smallest");
  if (axes.reduced.count == 1 && c.out[0].dtype == DType::i64) {
    std::fill_n(c.out[0].data_as<std::int64_t>(), axes.retained.count, std::int64_t{0});
    return;
  }
  visit_real_compute(number_type(c.in[0].dtype), [&]<class L>(std::type_identity<L>) {
    is_kind(c, ReduceKind::argmax) ? run_reduce<L>(c, axes, ExtremeIndex<L, true>{})
                                   : run_reduce<L>(c, axes, ExtremeIndex<L, false>{});
  });
}

}  // namespace tern
