// histogram: counts, or sums of weights, in bins.
#include <cmath>
#include <limits>

#include "dtypes/checked.h"
#include "dtypes/levels.h"
#include "kernels/cpu/reductions/order.h"
#include "kernels/cpu/reductions/reductions.h"
#include "kernels/cpu/reductions/row_loops.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/strided.h"

namespace tern {
namespace {

/// Chooses the ends of the bins like histc and histogram.
template <class T>
void choose_range(const KernelCall& c, const T* x, std::int64_t n, T* low, T* high) {
  *low = static_cast<T>(c.node->number_at(AttrKey::range, 0));
  *high = static_cast<T>(c.node->number_at(AttrKey::range, 1));
  if (*low == *high && n > 0) {
    const auto& loops = rows::loops<T>();
    *low = loops.min_or_nan(x, n);
    *high = loops.max(x, n);
    if (!std::isfinite(*low) || !std::isfinite(*high)) {
      fail(ErrorCode::runtime, "the range of the elements is not finite: give a range");
    }
  }
  if (*low == *high) {
    const T more = static_cast<T>(c.node->integer(AttrKey::full) != 0 ? 0.5 : 1.0);
    *low -= more;
    *high += more;
  }
}

/// Counts elements in equal bins from low to high, a block at a time.
template <class T>
void count_in_equal_bins(const T* x, std::int64_t n, T low, T high, std::vector<double>& counts) {
  constexpr std::int64_t kBlock = 512;
  const auto bins = static_cast<std::int32_t>(counts.size());
  const T scale = static_cast<T>(bins), width = high - low;
  std::vector<std::int64_t> found(counts.size() + 1);  // the last counts elements outside
  std::int32_t places[kBlock];
  for (std::int64_t first = 0; first < n; first += kBlock) {
    const std::int64_t m = std::min(kBlock, n - first);
    const T* v = x + first;
    visit_cpu_level([&](auto) __attribute__((always_inline)) {
#pragma omp simd
      for (std::int64_t i = 0; i < m; ++i) {
        const bool is_inside = (static_cast<int>(v[i] >= low) & static_cast<int>(v[i] <= high)) != 0;
        const T at = (v[i] - low) * scale / width, inside = is_inside ? at : T(0);
        const auto bin = static_cast<std::int32_t>(inside < scale ? inside : scale), last = bins - 1;
        places[i] = is_inside ? (bin < last ? bin : last) : bins;
      }
    });
    for (std::int64_t i = 0; i < m; ++i) ++found[static_cast<std::size_t>(places[i])];
  }
  for (std::size_t b = 0; b < counts.size(); ++b) counts[b] = static_cast<double>(found[b]);
}

template <class T>
void histogram(KernelCall& c) {
  const std::int64_t n = c.in[0].numel();
  // Buffers for operands of other types, converted to T.
  std::vector<T> own, own_weights, own_edges;
  const auto as_t = [](const TensorView& v, std::vector<T>& own_data) -> const T* {
    if (v.dtype == dtype_of_v<T>) return v.data_as<T>();
    own_data.resize(static_cast<std::size_t>(v.numel()));
    convert(v.data, v.dtype, own_data.data(), dtype_of_v<T>, v.numel());
    return own_data.data();
  };
  const T* x = as_t(c.in[0], own);
  const T* weights = c.has_input(2) ? as_t(c.in[2], own_weights) : nullptr;
  const bool given = c.has_input(1);
  const std::int64_t bins = given ? c.in[1].numel() - 1 : c.node->integer(AttrKey::bins);
  std::vector<T> edges(static_cast<std::size_t>(bins + 1));
  T low{}, high{};
  if (given) {
    const T* e = as_t(c.in[1], own_edges);
    edges.assign(e, e + bins + 1);
    low = edges.front();
    high = edges.back();
  } else {
    choose_range(c, x, n, &low, &high);
    const T step = (high - low) / static_cast<T>(bins);  // edges count from both ends, as in linspace
    for (std::int64_t i = 0; i <= bins; ++i) {
      edges[static_cast<std::size_t>(i)] =
          i < (bins + 1) / 2 ? low + step * static_cast<T>(i) : high - step * static_cast<T>(bins - i);
    }
  }
  std::vector<double> counts(static_cast<std::size_t>(bins));
  const bool search = c.node->integer(AttrKey::full) != 0;  // correct the bin by a comparison with the rounded edges
  constexpr std::int64_t kMostBins = 1 << 20;
  const bool are_equal = !given && !search && weights == nullptr && bins > 0 && bins <= kMostBins;
  if (are_equal) count_in_equal_bins(x, n, low, high, counts);
  for (std::int64_t i = 0; !are_equal && bins > 0 && i < n; ++i) {
    if (!(x[i] >= low && x[i] <= high)) continue;
    std::int64_t bin;
    if (given) {
      bin = std::upper_bound(edges.begin(), edges.end(), x[i]) - edges.begin() - 1;
    } else {
      bin = std::clamp<std::int64_t>(clamped_to((x[i] - low) * static_cast<T>(bins) / (high - low)), 0, bins);
      if (search) {
        const auto first = edges.begin() + std::max<std::int64_t>(0, bin - 1);
        const auto last = edges.begin() + std::min(bin + 2, bins + 1);
        bin = std::upper_bound(first, last, x[i]) - edges.begin() - 1;
      }
    }
    bin = std::clamp<std::int64_t>(bin, 0, bins - 1);
    counts[static_cast<std::size_t>(bin)] += weights == nullptr ? 1.0 : static_cast<double>(weights[i]);
  }
  if (c.node->integer(AttrKey::density) != 0) {
    double total = 0;
    for (double v : counts) total += v;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      counts[i] = counts[i] / total / static_cast<double>(edges[i + 1] - edges[i]);
    }
  }
  if (c.wants_output(0)) convert(counts.data(), DType::f64, c.out[0].data, c.out[0].dtype, bins);
  if (c.wants_output(1)) convert(edges.data(), dtype_of_v<T>, c.out[1].data, c.out[1].dtype, bins + 1);
}

}  // namespace

void cpu_histogram(KernelCall& c) {
  const DType t = c.in[0].dtype;
  if (t == DType::f64 || !is_floating(t)) {
    histogram<double>(c);
  } else {
    histogram<float>(c);
  }
}

}  // namespace tern
