// prod, bit_xor, any and all: reductions by a binary function.
#include <cstring>

#include "dtypes/levels.h"
#include "kernels/cpu/accumulate.h"
#include "kernels/cpu/reductions/reduce.h"
#include "schema/kinds.h"

namespace tern {
namespace {

/// Joins two values, or adds a vector to another (by reference: vectors have no common calling convention).
struct Product {
  template <class A>
  A operator()(A a, A b) const {
    return times(a, b);
  }
  template <class V>
  [[gnu::always_inline]] void add(V& a, const V& b) const {
    a *= b;
  }
};
struct ExclusiveOr {
  template <class A>
  A operator()(A a, A b) const {
    return a ^ b;
  }
  template <class V>
  [[gnu::always_inline]] void add(V& a, const V& b) const {
    a ^= b;
  }
};

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
    std::int64_t i = 0;
    if (n >= kLanes) {
      visit_cpu_level([&](auto) __attribute__((always_inline)) {
        if constexpr (std::is_floating_point_v<A>) {
          i = join_vectors(lanes, v, n);
        } else {
          std::fill_n(lanes, kLanes, start);
          for (; i + kLanes <= n; i += kLanes) {
            for (std::int64_t j = 0; j < kLanes; ++j) lanes[j] = join(lanes[j], static_cast<Acc>(v[i + j]));
          }
        }
      });
    }
    for (; i < n; ++i) acc = join(acc, static_cast<Acc>(v[i]));
    if (n < kLanes) return;
    for (std::int64_t width = kLanes / 2; width > 0; width /= 2) {
      for (std::int64_t j = 0; j < width; ++j) lanes[j] = join(lanes[j], lanes[j + width]);
    }
    acc = join(acc, lanes[0]);
  }
  void add_each(Acc* acc, const L* v, std::int64_t n, std::int64_t) const {
    visit_cpu_level([&](auto) __attribute__((always_inline)) {
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) acc[i] = join(acc[i], static_cast<Acc>(v[i]));
    });
  }
  void add_rows(Acc* acc, const L* v, std::int64_t row, std::int64_t rows, std::int64_t n) const
      requires(std::is_same_v<L, float> || std::is_same_v<A, std::uint8_t>) {
    visit_cpu_level([&](auto) __attribute__((always_inline)) {
      constexpr std::int64_t kRows = 4;
      for (; rows >= kRows; rows -= kRows, v += kRows * row) {
#pragma omp simd
        for (std::int64_t i = 0; i < n; ++i)
          acc[i] = join(acc[i], join(join(static_cast<Acc>(v[i]), static_cast<Acc>(v[i + row])),
                                     join(static_cast<Acc>(v[i + 2 * row]), static_cast<Acc>(v[i + 3 * row]))));
      }
      for (; rows > 0; --rows, v += row) {
#pragma omp simd
        for (std::int64_t i = 0; i < n; ++i) acc[i] = join(acc[i], static_cast<Acc>(v[i]));
      }
    });
  }
  void merge(Acc& acc, const Acc& later) const {
    acc = join(acc, later);
  }
  Result finish(const Acc& acc, std::int64_t) const {
    return static_cast<L>(acc);
  }

 private:
  /// Joins 32 lanes of eight bytes in registers, then writes eight; returns the number of joined elements.
  [[gnu::always_inline]] std::int64_t join_vectors(Acc* lanes, const L* v, std::int64_t n) const {
    constexpr int kWidth = 8, kVectors = 4;
    using V [[gnu::vector_size(kWidth * sizeof(Acc))]] = Acc;
    using Narrow [[gnu::vector_size(kWidth * sizeof(L)), gnu::aligned(alignof(L)), gnu::may_alias]] = L;
    V sums[kVectors];
#pragma GCC unroll 4
    for (V& sum : sums) sum = V{} + start;
    std::int64_t i = 0;
    for (; i + kWidth * kVectors <= n; i += kWidth * kVectors) {
#pragma GCC unroll 4
      for (int k = 0; k < kVectors; ++k) {
        join.add(sums[k], __builtin_convertvector(*reinterpret_cast<const Narrow*>(v + i + k * kWidth), V));
      }
    }
    for (; i + kWidth <= n; i += kWidth)
      join.add(sums[0], __builtin_convertvector(*reinterpret_cast<const Narrow*>(v + i), V));
#pragma GCC unroll 2
    for (int k = 0; k < 2; ++k) join.add(sums[k], sums[k + 2]);
    join.add(sums[0], sums[1]);
    std::memcpy(lanes, sums, sizeof(V));
    return i;
  }
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
      if (number_type(c.out[0].dtype) == DType::u64) return reduce_by<U64, U64>(c, axes, U64{0}, ExclusiveOr{});
      return reduce_by<std::int64_t, U64>(c, axes, U64{0}, ExclusiveOr{});
    default: break;
  }
  visit_compute(number_type(c.out[0].dtype), [&]<class L>(std::type_identity<L>) {
    using A = wide_t<L>;
    reduce_by<L, A>(c, axes, A(1), Product{});
  });
}

}  // namespace tern
