// segment_reduce: each segment of a line into one element.
#include <cmath>
#include <limits>

#include "kernels/cpu/reductions/order.h"
#include "kernels/cpu/reductions/reductions.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/walk.h"
#include "schema/kinds.h"
#include "threads/parallel.h"

namespace tern {
namespace {

double start_of(ScatterKind kind) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  switch (kind) {
    case ScatterKind::prod: return 1;
    case ScatterKind::max: return -inf;
    case ScatterKind::min: return inf;
    default: return 0;
  }
}

double join(ScatterKind kind, double a, double v) {
  switch (kind) {
    case ScatterKind::prod: return a * v;
    case ScatterKind::max: return is_nan(a) || a > v ? a : v;
    case ScatterKind::min: return is_nan(a) || a < v ? a : v;
    default: return a + v;
  }
}

}  // namespace

void cpu_segment_reduce(KernelCall& c) {
  const TensorView &x = c.in[0], &offsets = c.in[1], &out = c.out[0];
  const auto kind = static_cast<ScatterKind>(c.node->integer(AttrKey::kind));
  const int axis = axis_of(*c.node, x.rank);
  std::int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= x.size(i);
  for (int i = axis + 1; i < x.rank; ++i) inner *= x.size(i);
  const std::int64_t n = x.size(axis), segments = out.size(axis);
  const std::vector<double>& value = c.node->numbers(AttrKey::value);
  const double start = value.empty() ? start_of(kind) : value[0];
  std::vector<std::int64_t> bounds(static_cast<std::size_t>(outer * (segments + 1)));
  convert(offsets.data, offsets.dtype, bounds.data(), DType::i64, outer * (segments + 1));
  const std::int64_t size = element_size(x.dtype), out_size = element_size(out.dtype);
  parallel_for(outer * segments, grain_for(std::max<std::int64_t>(1, n * inner / std::max<std::int64_t>(1, segments))),
               [&](std::int64_t begin, std::int64_t end) {
                 RunReader<double> reader(x.dtype);
                 RunWriter<double> writer(out.dtype);
                 for (std::int64_t t = begin; t < end; ++t) {
                   const std::int64_t line = t / segments;
                   const std::int64_t first = bounds[static_cast<std::size_t>(line * (segments + 1) + t % segments)];
                   const std::int64_t last = bounds[static_cast<std::size_t>(line * (segments + 1) + t % segments + 1)];
                   if (first < 0 || last < first || last > n) {
                     fail(ErrorCode::runtime, "segment " + std::to_string(first) + ".." + std::to_string(last) +
                                                  " does not lie within an axis of " + std::to_string(n));
                   }
                   for (std::int64_t j = 0; j < inner; j += kRun) {
                     const std::int64_t m = std::min(kRun, inner - j);
                     std::byte* at = out.data + (t * inner + j) * out_size;
                     double acc[kRun];
                     std::fill_n(acc, m, start);
                     for (std::int64_t i = first; i < last; ++i) {
                       const double* v = reader.read(x.data + ((line * n + i) * inner + j) * size, 1, m);
                       for (std::int64_t k = 0; k < m; ++k) acc[k] = join(kind, acc[k], v[k]);
                     }
                     if (kind == ScatterKind::mean) {
                       for (std::int64_t k = 0; k < m; ++k) {
                         if (last > first) {
                           acc[k] /= static_cast<double>(last - first);
                         } else if (value.empty()) {
                           acc[k] = std::numeric_limits<double>::quiet_NaN();
                         }
                       }
                     }
                     std::copy_n(acc, m, writer.begin(at, 1));
                     writer.end(at, 1, m);
                   }
                 }
               });
}

}  // namespace tern
