// histogram: counts, or sums of weights, in bins.
#include <cmath>

#include "dtypes/checked.h"
#include "kernels/cpu/reductions/order.h"
#include "kernels/cpu/reductions/reductions.h"
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
    *low = *high = x[0];
    for (std::int64_t i = 0; i < n; ++i) {
      *low = x[i] < *low || is_nan(x[i]) ? x[i] : *low;
      *high = x[i] > *high || is_nan(x[i]) ? x[i] : *high;
    }
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

template <class T>
void histogram(KernelCall& c) {
  const std::int64_t n = c.in[0].numel();
  // Buffers for operands of other types, converted to T.
  std::vector<T> own, own_weights, own_edges;
  const auto as_t = [](const TensorView& v, std::vector<T>& own_data) -> const T* {
    if (v.dtype == dtype_of_v<T>) return v.as<T>();
    own_data.resize(static_cast<std::size_t>(v.numel()));
    convert(v.data, v.dtype, own_data.data(), dtype_of_v<T>, v.numel());
    return own_data.data();
  };
  const T* x = as_t(c.in[0], own);
  const T* weights = c.has(2) ? as_t(c.in[2], own_weights) : nullptr;
  const bool given = c.has(1);
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
  for (std::int64_t i = 0; bins > 0 && i < n; ++i) {
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
  if (c.wants(0)) convert(counts.data(), DType::f64, c.out[0].data, c.out[0].dtype, bins);
  if (c.wants(1)) convert(edges.data(), dtype_of_v<T>, c.out[1].data, c.out[1].dtype, bins + 1);
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
