// prod, bit_xor, any and all: reductions by a binary function.
#include "kernels/cpu/accumulate.h"
#include "kernels/cpu/reductions/reduce.h"
#include "schema/kinds.h"

namespace tern {
namespace {

template <class L, class A, class Join>
struct BinaryReduction {
  using Acc = A;
  using Result = L;
  Acc start;
  Join join;

  Acc identity() const { return start; }
  void add_run(Acc& acc, const L* v, std::int64_t n, std::int64_t) const {
    constexpr std::int64_t kLanes = 8;
    Acc lanes[kLanes];
    std::fill_n(lanes, kLanes, start);
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (std::int64_t j = 0; j < kLanes; ++j) lanes[j] = join(lanes[j], static_cast<Acc>(v[i + j]));
    }
    for (; i < n; ++i) acc = join(acc, static_cast<Acc>(v[i]));
    for (Acc lane : lanes) acc = join(acc, lane);
  }
  void add_each(Acc* acc, const L* v, std::int64_t n, std::int64_t) const {
    for (std::int64_t i = 0; i < n; ++i) acc[i] = join(acc[i], static_cast<Acc>(v[i]));
  }
  void merge(Acc& acc, const Acc& later) const { acc = join(acc, later); }
  Result finish(const Acc& acc, std::int64_t) const { return static_cast<L>(acc); }
};

template <class L, class A, class Join>
void reduce_by(KernelCall& c, const ReductionAxes& axes, A start, Join join) {
  run_reduce<L>(c, axes, BinaryReduction<L, A, Join>{start, join});
}

}  // namespace

void reduce_prod(KernelCall& c, const ReductionAxes& axes) {
  using U64 = std::uint64_t;
  using U8 = std::uint8_t;
  switch (static_cast<ReduceKind>(c.node->integer(AttrKey::kind))) {
    case ReduceKind::any: return reduce_by<bool, U8>(c, axes, U8{0}, [](U8 a, U8 b) { return static_cast<U8>(a | b); });
    case ReduceKind::all: return reduce_by<bool, U8>(c, axes, U8{1}, [](U8 a, U8 b) { return static_cast<U8>(a & b); });
    case ReduceKind::bit_xor:
      if (number_type(c.out[0].dtype) == DType::u64)
        return reduce_by<U64, U64>(c, axes, U64{0}, [](U64 a, U64 b) { return a ^ b; });
      return reduce_by<std::int64_t, U64>(c, axes, U64{0}, [](U64 a, U64 b) { return a ^ b; });
    default: break;
  }
  visit_compute(number_type(c.out[0].dtype), [&]<class L>(std::type_identity<L>) {
    using A = wide_t<L>;
    reduce_by<L, A>(c, axes, A(1), [](A a, A b) { return times(a, b); });
  });
}

}  // namespace tern
