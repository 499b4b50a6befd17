// var: each run's mean and squared distances in two passes, joined as Chan, Golub and LeVeque do (1979); in double.
#include "dtypes/levels.h"
#include "kernels/cpu/accumulate.h"
#include "kernels/cpu/reductions/reduce.h"
#include "kernels/cpu/reductions/row_loops.h"

namespace tern {
namespace {

template <class T>
double squared(T v) {
  if constexpr (is_std_complex_v<T>)
    return v.real() * v.real() + v.imag() * v.imag();
  else
    return v * v;
}

template <class L>
struct Variance {
  using Wide = wide_t<L>;
  struct Acc {
    double count;
    Wide mean;
    double distances;  ///< sum of the squared distances from `mean`
  };
  using Result = double;
  double correction;  ///< subtracted from the count: 1 for the unbiased variance

  Acc identity() const { return {0, Wide{}, 0}; }
  void add_run(Acc& acc, const L* v, std::int64_t n, std::int64_t) const {
    if constexpr (std::is_floating_point_v<L>) {
      const auto& loops = rows::loops<L>();
      const double mean = loops.sum(v, n) / static_cast<double>(n);
      return merge(acc, {static_cast<double>(n), mean, loops.distances(v, mean, n)});
    }
    constexpr std::int64_t kLanes = 8;
    Wide lane_sums[kLanes] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (std::int64_t j = 0; j < kLanes; ++j) lane_sums[j] += static_cast<Wide>(v[i + j]);
    }
    Wide sum{};
    for (; i < n; ++i) sum += static_cast<Wide>(v[i]);
    for (Wide s : lane_sums) sum += s;
    const Wide mean = sum / static_cast<double>(n);
    double lane_distances[kLanes] = {};
    for (i = 0; i + kLanes <= n; i += kLanes) {
      for (std::int64_t j = 0; j < kLanes; ++j) lane_distances[j] += squared(static_cast<Wide>(v[i + j]) - mean);
    }
    double distances = 0;
    for (; i < n; ++i) distances += squared(static_cast<Wide>(v[i]) - mean);
    for (double d : lane_distances) distances += d;
    merge(acc, {static_cast<double>(n), mean, distances});
  }
  void add_each(Acc* acc, const L* v, std::int64_t n, std::int64_t) const {
    const double count = acc[0].count + 1, inverse_count = 1 / count;  // all accumulators are at the same row
    visit_cpu_level([&](auto) __attribute__((always_inline)) { add_each(acc, v, n, count, inverse_count); });
  }
  [[gnu::always_inline]] static void add_each(Acc* acc, const L* v, std::int64_t n, double count,
                                              double inverse_count) {
    for (std::int64_t i = 0; i < n; ++i) {
      const Wide x = static_cast<Wide>(v[i]), delta_before = x - acc[i].mean;
      acc[i].mean += delta_before * inverse_count;
      const Wide delta_after = x - acc[i].mean;
      if constexpr (is_std_complex_v<Wide>) {
        acc[i].distances += delta_before.real() * delta_after.real() + delta_before.imag() * delta_after.imag();
      } else {
        acc[i].distances += delta_before * delta_after;
      }
      acc[i].count = count;
    }
  }
  void merge(Acc& acc, const Acc& later) const {
    if (later.count == 0) return;
    if (acc.count == 0) {
      acc = later;
      return;
    }
    const double total = acc.count + later.count;
    const Wide mean_delta = later.mean - acc.mean;
    acc.distances += later.distances + squared(mean_delta) * (acc.count * later.count / total);
    acc.mean += mean_delta * (later.count / total);
    acc.count = total;
  }
  Result finish(const Acc& acc, std::int64_t count) const {
    return acc.distances / std::max(0.0, static_cast<double>(count) - correction);
  }
};

}  // namespace

void reduce_variance(KernelCall& c, const ReductionAxes& axes) {
  const double correction = c.node->number(AttrKey::correction);
  const auto work = [&]<class L>(std::type_identity<L>) {
    if constexpr (!std::is_integral_v<L>) run_reduce<L>(c, axes, Variance<L>{correction});
  };
  visit_compute(number_type(c.in[0].dtype), work);
}

}  // namespace tern
