// Shapes by the rules of reductions and indexing, and refusals: every refused node would break a kernel.
#include <gtest/gtest.h>
#include <tern/error.h>

#include "schema/infer.h"
#include "schema/kinds.h"

namespace tern {
namespace {

struct ReductionRule {
  Program program;
  Node node;
  std::vector<TensorType> types;

  explicit ReductionRule(Op op) { node.op = op; }
  ReductionRule& in(DType t, Dims shape) {
    types.push_back({t, std::move(shape)});
    return *this;
  }
  ReductionRule& set(AttrKey key, Dims v) {
    node.set(key, std::move(v));
    return *this;
  }
  ReductionRule& numbers(AttrKey key, std::vector<double> v) {
    node.set(key, std::move(v));
    return *this;
  }
  std::vector<TensorType> infer_types() {
    std::vector<const TensorType*> pointers;
    for (const TensorType& t : types) pointers.push_back(&t);
    return infer(program, program.pool, node, pointers);
  }
};

constexpr auto kF32 = static_cast<std::int64_t>(DType::f32), kI64 = static_cast<std::int64_t>(DType::i64);

Dim kind(ReduceKind k) {
  return static_cast<std::int64_t>(k);
}

TEST(ReductionRules, Shapes) {
  ReductionRule r(Op::reduce);
  r.in(DType::f32, {2, 3, 4}).set(AttrKey::kind, {kind(ReduceKind::sum)}).set(AttrKey::dtype, {kF32});
  EXPECT_EQ(r.infer_types()[0].shape, Dims{});
  r.set(AttrKey::axes, {-1, 0});
  EXPECT_EQ(r.infer_types()[0].shape, Dims{3});
  r.set(AttrKey::keepdims, {1});
  EXPECT_EQ(r.infer_types()[0].shape, (Dims{1, 3, 1}));
}

TEST(ReductionRules, SymbolsPass) {
  ReductionRule r(Op::topk);
  const Dim n = r.program.pool.symbol("n", 10), k = r.program.pool.symbol("k", 1);
  r.in(DType::f32, {2, n}).set(AttrKey::axis, {1}).set(AttrKey::k, {k});
  EXPECT_EQ(r.infer_types()[1].shape, (Dims{2, k}));
}

TEST(ReductionRules, Refusals) {
  const auto reduce = [](Dims axes, Dims k, Dims dtype) {
    ReductionRule r(Op::reduce);
    r.in(DType::f32, {2, 3})
        .set(AttrKey::axes, std::move(axes))
        .set(AttrKey::kind, std::move(k))
        .set(AttrKey::dtype, std::move(dtype));
    return r.infer_types();
  };
  EXPECT_THROW(reduce({2}, {0}, {kF32}), Error);      // invalid axis
  EXPECT_THROW(reduce({1, -1}, {0}, {kF32}), Error);  // twice the same
  EXPECT_THROW(reduce({}, {99}, {kF32}), Error);      // invalid kind
  EXPECT_THROW(reduce({}, {0}, {77}), Error);         // invalid type
  EXPECT_THROW(reduce({}, {kind(ReduceKind::max)}, {kI64}), Error);
  EXPECT_THROW(reduce({}, {kind(ReduceKind::argmax)}, {kF32}), Error);
  EXPECT_THROW(reduce({0, 1}, {kind(ReduceKind::argmax)}, {kI64}), Error);
  ReductionRule kth(Op::select_reduce);
  kth.in(DType::f32, {3}).set(AttrKey::axis, {0}).set(AttrKey::kind, {static_cast<std::int64_t>(SelectKind::kthvalue)});
  EXPECT_THROW(kth.set(AttrKey::k, {0}).infer_types(), Error);
  EXPECT_THROW(kth.set(AttrKey::k, {4}).infer_types(), Error);
  EXPECT_NO_THROW(kth.set(AttrKey::k, {3}).infer_types());
  ReductionRule sort(Op::sort);
  sort.in(DType::c64, {3}).set(AttrKey::axis, {0});
  EXPECT_THROW(sort.infer_types(), Error);
  ReductionRule norm(Op::group_norm);
  norm.in(DType::f32, {2, 6, 4}).numbers(AttrKey::epsilon, {1e-5});
  EXPECT_THROW(norm.set(AttrKey::groups, {0}).infer_types(), Error);
  EXPECT_THROW(norm.set(AttrKey::groups, {4}).infer_types(), Error);
  EXPECT_NO_THROW(norm.set(AttrKey::groups, {3}).infer_types());
}

TEST(IndexingRules, Shapes) {
  ReductionRule r(Op::index);
  r.in(DType::f32, {4, 5, 6}).in(DType::i64, {7, 1}).in(DType::i64, {7, 1});
  EXPECT_EQ(r.infer_types()[0].shape, (Dims{7, 1, 6}));
  ReductionRule select(Op::index_select);
  select.in(DType::f32, {4, 5}).in(DType::i32, {2, 3}).set(AttrKey::axis, {0});
  EXPECT_EQ(select.infer_types()[0].shape, (Dims{2, 3, 5}));
  ReductionRule nonzero(Op::nonzero);
  const Dim u = nonzero.program.pool.new_symbol("u", 0, kNoBound);
  nonzero.in(DType::boolean, {4, 5}).set(AttrKey::symbols, {u});
  EXPECT_EQ(nonzero.infer_types()[0].shape, (Dims{u, 2}));
}

TEST(IndexingRules, Refusals) {
  EXPECT_THROW(ReductionRule(Op::index).in(DType::f32, {4}).in(DType::i64, {2}).in(DType::i64, {2}).infer_types(),
               Error);
  EXPECT_THROW(ReductionRule(Op::index).in(DType::f32, {4, 4}).in(DType::i64, {2}).in(DType::i64, {3}).infer_types(),
               Error);
  EXPECT_THROW(ReductionRule(Op::index).in(DType::f32, {4}).in(DType::f32, {2}).infer_types(), Error);
  EXPECT_THROW(
      ReductionRule(Op::gather).in(DType::f32, {4, 2}).in(DType::i64, {4, 3}).set(AttrKey::axis, {0}).infer_types(),
      Error);
  EXPECT_THROW(ReductionRule(Op::scatter)
                   .in(DType::f32, {4})
                   .in(DType::i64, {3})
                   .in(DType::f32, {2})
                   .set(AttrKey::axis, {0})
                   .set(AttrKey::kind, {0})
                   .infer_types(),
               Error);
  EXPECT_THROW(ReductionRule(Op::scatter)
                   .in(DType::f32, {4})
                   .in(DType::i64, {3})
                   .in(DType::f64, {3})
                   .set(AttrKey::axis, {0})
                   .set(AttrKey::kind, {0})
                   .infer_types(),
               Error);
  EXPECT_THROW(ReductionRule(Op::index_put).in(DType::f32, {4}).in(DType::f32, {3}).in(DType::i64, {2}).infer_types(),
               Error);
  EXPECT_THROW(ReductionRule(Op::nonzero).in(DType::f32, {4}).infer_types(), Error);  // no name for the size
  EXPECT_THROW(
      ReductionRule(Op::masked_select).in(DType::f32, {4}).in(DType::f32, {4}).set(AttrKey::symbols, {1}).infer_types(),
      Error);
}

TEST(Kinds, NamesAndNumbersGoTogether) {
  for (int i = 0; i < kReduceKinds; ++i) EXPECT_EQ(reduce_kind_from_name(reduce_kind_name(i)), i);
  for (int i = 0; i < kScatterKinds; ++i) EXPECT_EQ(scatter_kind_from_name(scatter_kind_name(i)), i);
  EXPECT_EQ(scan_kind_from_name("cumprod"), static_cast<int>(ScanKind::cumprod));
  EXPECT_EQ(select_kind_from_name("mode"), static_cast<int>(SelectKind::mode));
  EXPECT_EQ(reduce_kind_from_name("median"), -1);
  EXPECT_EQ(reduce_kind_name(kReduceKinds), "");
}

}  // namespace
}  // namespace tern
