// sum and mean.
#include "kernels/cpu/accumulate.h"
#include "kernels/cpu/reductions/reduce.h"
#include "kernels/cpu/reductions/row_loops.h"
#include "schema/kinds.h"

namespace tern {
namespace {

template <class L>
struct Sum {
  using Acc = wide_t<L>;
  using Result = L;
  static constexpr std::int64_t kCalled = 16;  ///< elements that repay the call of a loop
  bool mean;

  Acc identity() const { return Acc{}; }
  void add_run(Acc& acc, const L* v, std::int64_t n, std::int64_t) const {
    if constexpr (std::is_floating_point_v<L>) {
      acc += rows::loops<L>().block_sum(v, n);
      return;
    }
    constexpr std::int64_t kLanes = 16;
    Acc lanes[kLanes] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (std::int64_t j = 0; j < kLanes; ++j) lanes[j] += static_cast<Acc>(v[i + j]);
    }
    for (; i < n; ++i) acc += static_cast<Acc>(v[i]);
    for (std::int64_t width = kLanes / 2; width > 0; width /= 2) {
      for (std::int64_t j = 0; j < width; ++j) lanes[j] += lanes[j + width];
    }
    acc += lanes[0];
  }
  /// Sums `rows` rows of n elements.
  void sum_rows(const L* v, std::int64_t n, std::int64_t rows, Acc* sums) const requires std::is_floating_point_v<L> {
    rows::loops<L>().row_sums(v, n, rows, sums);
  }
  void add_each(Acc* acc, const L* v, std::int64_t n, std::int64_t) const {
    if constexpr (std::is_floating_point_v<L>) {
      if (n >= kCalled) return rows::loops<L>().add_each(acc, v, n);
    }
    for (std::int64_t i = 0; i < n; ++i) acc[i] += static_cast<Acc>(v[i]);
  }
  void add_rows(Acc* acc, const L* v, std::int64_t row, std::int64_t rows,
                std::int64_t n) const requires std::is_floating_point_v<L> {
    rows::loops<L>().add_rows(acc, v, row, rows, n);
  }
  void merge(Acc& acc, const Acc& later) const { acc += later; }
  Result finish(const Acc& acc, std::int64_t count) const {
    if constexpr (!std::is_integral_v<L>) {
      if (mean) return static_cast<L>(acc / static_cast<double>(count));
    }
    return static_cast<L>(acc);
  }
};

}  // namespace

void reduce_sum(KernelCall& c, const ReductionAxes& axes) {
  const bool mean = static_cast<ReduceKind>(c.node->integer(AttrKey::kind)) == ReduceKind::mean;
  visit_compute(number_type(c.out[0].dtype),
                [&]<class L>(std::type_identity<L>) { run_reduce<L>(c, axes, Sum<L>{mean}); });
}

}  // namespace tern
