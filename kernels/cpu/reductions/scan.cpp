// cumsum, cumprod, cummax, cummin, logcumsumexp: lines next to each other in memory are scanned side by side.
#include <cmath>
#include <limits>

#include "kernels/cpu/accumulate.h"
#include "kernels/cpu/reductions/reductions.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/strided.h"
#include "schema/kinds.h"
#include "threads/parallel.h"

namespace tern {
namespace {

template <class A>
bool not_a_number(A v) {
  if constexpr (is_std_complex_v<A>) {
    return std::isnan(v.real()) || std::isnan(v.imag());
  } else {
    return std::isnan(v);
  }
}

/// log(exp(a) + exp(b)), as PyTorch's logcumsumexp treats infinities and NaN.
double log_add(double a, double b) {
  const double low = std::isnan(b) || b < a ? b : a, high = std::isnan(b) || a < b ? b : a;
  if (low == high && !std::isfinite(low)) return low;
  return std::log1p(std::exp(low - high)) + high;
}

std::complex<double> log_add(std::complex<double> a, std::complex<double> b) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (not_a_number(a) || not_a_number(b)) return {nan, nan};
  const bool ordered = a.real() < b.real();
  const std::complex<double> low = ordered ? a : b, high = ordered ? b : a;
  if (!std::isfinite(low.real()) && low.real() == high.real()) {
    return low.real() < 0 ? low : std::log(std::exp(low) + std::exp(high));
  }
  const std::complex<double> z = std::exp(low - high);
  // log(1 + z) that keeps the digits of a small z.
  const double x = z.real(), y = z.imag();
  const double modulus = 0.5 * std::log1p(x * (2 + x) + y * y);
  return std::complex<double>(modulus, std::atan2(y, 1 + x)) + high;
}

constexpr std::int64_t kLinesAtOnce = 256;

/// One pass over `width` lines at once: step(acc, v, first) joins an element; see below.
template <class L, class A, class Step>
void scan_lines(KernelCall& c, Step step) {
  const TensorView &x = c.in[0], &y = c.out[0];
  const int axis = axis_of(*c.node, x.rank);
  const std::int64_t n = x.size(axis), xs = x.stride(axis), ys = y.stride(axis);
  const std::int64_t x_size = element_size(x.dtype), y_size = element_size(y.dtype);
  if (x.numel() == 0) return;
  // Lines are grouped by the axis just inside the scanned one; without one, each is alone.
  CollapsedAxes from, to;
  std::int64_t width = 1, x_step = 1;
  for (int i = 0; i < x.rank; ++i) {
    if (i == axis) continue;
    if (i == x.rank - 1) {
      width = x.size(i);
      x_step = x.stride(i);
    } else {
      from.add(x.size(i), x.stride(i));
      to.add(y.size(i), y.stride(i));
    }
  }
  const std::int64_t per_row = (width + kLinesAtOnce - 1) / kLinesAtOnce;
  parallel_for(from.count * per_row, grain_for(n * std::min(width, kLinesAtOnce)),
               [&](std::int64_t begin, std::int64_t end) {
                 RunReader<L> reader(x.dtype);
                 RunWriter<L> writer(y.dtype);
                 A acc[kLinesAtOnce];
                 for (std::int64_t t = begin; t < end; ++t) {
                   const std::int64_t first = t % per_row * kLinesAtOnce, m = std::min(kLinesAtOnce, width - first);
                   const std::byte* px = x.data + (from.offset(t / per_row) + first * x_step) * x_size;
                   std::byte* py = y.data + (to.offset(t / per_row) + first) * y_size;
                   if (m == 1) {  // along the line in runs
                     for (std::int64_t i = 0; i < n; i += kRun) {
                       const std::int64_t k = std::min(kRun, n - i);
                       const L* v = reader.read(px + i * xs * x_size, xs, k);
                       L* out = writer.begin(py + i * ys * y_size, ys);
                       for (std::int64_t j = 0; j < k; ++j) {
                         acc[0] = i + j == 0 ? static_cast<A>(v[j]) : step(acc[0], static_cast<A>(v[j]));
                         out[j] = static_cast<L>(acc[0]);
                       }
                       writer.end(py + i * ys * y_size, ys, k);
                     }
                     continue;
                   }
                   for (std::int64_t i = 0; i < n; ++i) {
                     const L* v = reader.read(px + i * xs * x_size, x_step, m);
                     L* out = writer.begin(py + i * ys * y_size, 1);
                     for (std::int64_t j = 0; j < m; ++j) {
                       acc[j] = i == 0 ? static_cast<A>(v[j]) : step(acc[j], static_cast<A>(v[j]));
                       out[j] = static_cast<L>(acc[j]);
                     }
                     writer.end(py + i * ys * y_size, 1, m);
                   }
                 }
               });
}

template <class L, bool kMax>
void scan_extremum(KernelCall& c) {
  const TensorView &x = c.in[0], &y = c.out[c.wants(0) ? 0 : 1];
  const int axis = axis_of(*c.node, x.rank);
  const std::int64_t n = x.size(axis), xs = x.stride(axis), ys = y.stride(axis), size = element_size(x.dtype);
  if (x.numel() == 0) return;
  const CollapsedAxes from = axes_without(x, axis), to = axes_without(y, axis);
  std::int64_t* indices = c.wants(1) ? c.out[1].as<std::int64_t>() : nullptr;
  parallel_for(from.count, grain_for(n), [&](std::int64_t begin, std::int64_t end) {
    RunReader<L> reader(x.dtype);
    for (std::int64_t t = begin; t < end; ++t) {
      const std::byte* px = x.data + from.offset(t) * size;
      const std::int64_t o = to.offset(t);
      L best{};
      std::int64_t at = -1;
      for (std::int64_t i = 0; i < n; i += kRun) {
        const std::int64_t k = std::min(kRun, n - i);
        const L* v = reader.read(px + i * xs * size, xs, k);
        for (std::int64_t j = 0; j < k; ++j) {
          const bool wins = is_nan(v[j]) || (!is_nan(best) && (kMax ? v[j] >= best : v[j] <= best));
          if (at < 0 || wins) {
            best = v[j];
            at = i + j;
          }
          const std::int64_t place = o + (i + j) * ys;
          if (indices != nullptr) indices[place] = at;
          if (c.wants(0)) std::memcpy(y.data + place * size, px + at * xs * size, static_cast<std::size_t>(size));
        }
      }
    }
  });
}

}  // namespace

void cpu_scan(KernelCall& c) {
  const auto kind = static_cast<ScanKind>(c.node->integer(AttrKey::kind));
  if (kind == ScanKind::cummax || kind == ScanKind::cummin) {
    visit_real_compute(number_type(c.in[0].dtype), [&]<class L>(std::type_identity<L>) {
      kind == ScanKind::cummax ? scan_extremum<L, true>(c) : scan_extremum<L, false>(c);
    });
    return;
  }
  visit_compute(number_type(c.out[0].dtype), [&]<class L>(std::type_identity<L>) {
    using A = wide_t<L>;
    if (kind == ScanKind::cumsum) return scan_lines<L, A>(c, [](A a, A b) { return a + b; });
    if (kind == ScanKind::cumprod) return scan_lines<L, A>(c, [](A a, A b) { return times(a, b); });
    if constexpr (!std::is_integral_v<L>) scan_lines<L, A>(c, [](A a, A b) { return log_add(b, a); });
  });
}

}  // namespace tern
