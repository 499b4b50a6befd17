// reduce: sums, means, products and variances in the order defined by docs/reproducible.md. Exact reductions use the
// ordinary CPU kernels, but a winning zero has no sign.
#include "kernels/cpu/reductions/reduce.h"

#include <cstring>

#include "kernels/cpu/reductions/reductions.h"
#include "kernels/cpu/reproducible/ordered_reduce.h"
#include "kernels/cpu/reproducible/reproducible.h"
#include "schema/kinds.h"

namespace tern {
namespace {

/// Writes finish(value) for each of `values` to `out`, converted by way of R.
template <class R, class A, class Finish>
void write_results(const TensorView& out, const std::vector<A>& values, Finish finish) {
  RunWriter<R> writer(out.dtype);
  const auto total = static_cast<std::int64_t>(values.size());
  for (std::int64_t i = 0; i < total; i += kRun) {
    const std::int64_t count = std::min(kRun, total - i);
    std::byte* out_bytes = out.data + i * element_size(out.dtype);
    R* results = writer.begin(out_bytes, 1);
    for (std::int64_t k = 0; k < count; ++k)
      results[k] = static_cast<R>(finish(values[static_cast<std::size_t>(i + k)]));
    writer.end(out_bytes, 1, count);
  }
}

template <class L>
void sum(const KernelCall& c, const ReductionAxes& axes, bool mean) {
  const auto count = static_cast<double>(axes.reduced.count);
  write_results<L>(c.out[0], OrderedReducer<SumReduction<L>>(c.in[0], axes, {}).run(),
                   [&](auto v) { return mean ? v / count : v; });
}

template <class L>
void product(const KernelCall& c, const ReductionAxes& axes) {
  write_results<L>(c.out[0], OrderedReducer<ProductReduction<L>>(c.in[0], axes, {}).run(), [](auto v) { return v; });
}

template <class L>
void variance(const KernelCall& c, const ReductionAxes& axes) {
  const auto count = static_cast<double>(axes.reduced.count);
  const double divisor = std::max(0.0, count - c.node->number(AttrKey::correction));
  auto means = OrderedReducer<SumReduction<L>>(c.in[0], axes, {}).run();
  for (auto& m : means) m = m / count;
  const DistanceReduction<L> distances{means.data()};
  write_results<double>(c.out[0], OrderedReducer<DistanceReduction<L>>(c.in[0], axes, distances).run(),
                        [&](double v) { return v / divisor; });
}

template <class Bits>
void drop_sign_of_zeros(const TensorView& v) {
  constexpr Bits kNegativeZero = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  Bits* bits = v.data_as<Bits>();
  for (std::int64_t i = 0, numel = v.numel(); i < numel; ++i) bits[i] = bits[i] == kNegativeZero ? Bits{0} : bits[i];
}

void extremum(KernelCall& c, const ReductionAxes& axes) {
  reduce_extremum(c, axes);
  switch (c.out[0].dtype) {
    case DType::f16:
    case DType::bf16: return drop_sign_of_zeros<std::uint16_t>(c.out[0]);
    case DType::f32: return drop_sign_of_zeros<std::uint32_t>(c.out[0]);
    case DType::f64: return drop_sign_of_zeros<std::uint64_t>(c.out[0]);
    default: return;
  }
}

void reduce(KernelCall& c) {
  const auto kind = static_cast<ReduceKind>(c.node->integer(AttrKey::kind));
  const DType t = kind == ReduceKind::var ? c.in[0].dtype : c.out[0].dtype;
  if (!is_floating(t) && !is_complex(t)) return cpu_reduce(c);
  const ReductionAxes axes = reduction_axes(c);
  if (kind == ReduceKind::max || kind == ReduceKind::min) return extremum(c, axes);
  if (kind != ReduceKind::sum && kind != ReduceKind::mean && kind != ReduceKind::prod && kind != ReduceKind::var)
    return cpu_reduce(c);
  visit_compute(compute_type(t), [&]<class L>(std::type_identity<L>) {
    if constexpr (!std::is_integral_v<L>) {
      if (kind == ReduceKind::var) return variance<L>(c, axes);
      if (kind == ReduceKind::prod) return product<L>(c, axes);
      sum<L>(c, axes, kind == ReduceKind::mean);
    }
  });
}

}  // namespace

void register_reproducible_reduce(KernelTable& t) {
  t.set(Op::reduce, {.run = reduce, .strided = kAllStrided});
}

}  // namespace tern
