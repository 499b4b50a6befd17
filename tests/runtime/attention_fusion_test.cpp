// Attention that computes its mask or the function of its scores, against the same program as exported.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "dtypes/convert.h"
#include "runtime/fuse/fuse.h"
#include "runtime/prepared.h"
#include "tests/runtime/support.h"

namespace tern::testing {
namespace {

using Values = std::vector<ValueId>;

struct FusedSizes {
  std::int64_t batch, heads, groups, queries, keys, width;
};

Tensor converted(const Tensor& t, DType dtype) {
  Tensor made(dtype, {t.sizes().begin(), t.sizes().end()});
  convert(t.data(), t.dtype(), made.data(), dtype, t.numel());
  return made;
}

Tensor random_tensor(DType dtype, const std::vector<std::int64_t>& sizes, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  Tensor wide(DType::f32, sizes);
  for (float& x : wide.span<float>()) x = normal(engine);
  return converted(wide, dtype);
}

/// A program over q, k, v of `sizes`.
struct FusedProgram {
  FusedProgram(const FusedSizes& sizes, DType type) : s(sizes), dtype(type) {
    q = p.input(dtype, {s.batch, s.heads, s.queries, s.width});
    k = p.input(dtype, {s.batch, s.groups, s.keys, s.width});
    v = p.input(dtype, {s.batch, s.groups, s.keys, s.width});
    row = p.b().reshape(p.b().iota(s.queries, DType::i64), {s.queries, 1});
    column = p.b().iota(s.keys, DType::i64);
  }
  ValueId expr(std::string_view text, DType compute, DType result, std::vector<ExprArg> more = {}) {
    more.emplace_back("i", row);
    more.emplace_back("j", column);
    return p.b().expr(text, std::move(more), compute, result);
  }
  std::vector<Tensor> inputs() const {
    return {random_tensor(dtype, {s.batch, s.heads, s.queries, s.width}, 1),
            random_tensor(dtype, {s.batch, s.groups, s.keys, s.width}, 2),
            random_tensor(dtype, {s.batch, s.groups, s.keys, s.width}, 3)};
  }
  FusedSizes s;
  DType dtype;
  TestProgram p;
  ValueId q, k, v, row, column;
};

PreparedModel prepare_attention(const TestProgram& p, Fusion fusion) {
  return PreparedModel(prepare_program(p.model().program(), {}, {.fusion = fusion}));
}

/// Compares the results with and without fusion. `ops`: the nodes that the fused program may have beside attention.
void check_fused(const FusedProgram& f, const std::vector<Tensor>& inputs, double tolerance) {
  const PreparedModel fused = prepare_attention(f.p, Fusion::enabled);
  int functions = 0;
  for (const Node& n : fused.impl()->functions[0].nodes) {
    functions += n.op == Op::attention && !n.expr.code.empty() ? 1 : 0;
    EXPECT_NE(n.op, Op::softmax);
    EXPECT_NE(n.op, Op::matmul);
    for (ValueId v : n.outputs) {
      const Dims& shape = fused.impl()->functions[0].values[static_cast<std::size_t>(v)].type.shape;
      const bool is_scores = shape.size() >= 2 && shape.back().is(f.s.keys) && shape[shape.size() - 2].is(f.s.queries);
      EXPECT_FALSE(is_scores) << "the result of " << op_name(n.op);
    }
  }
  EXPECT_EQ(functions, 1);
  Session by_blocks(fused), plain(prepare_attention(f.p, Fusion::disabled));
  const std::vector<Tensor>& got = by_blocks.run(inputs);
  const std::vector<Tensor>& want = plain.run(inputs);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].sizes(), want[i].sizes());
    const Tensor a = converted(got[i], DType::f32), b = converted(want[i], DType::f32);
    const auto x = a.span<float>(), y = b.span<float>();
    for (std::size_t e = 0; e < x.size(); ++e) {
      if (std::isinf(y[e]) || std::isnan(y[e])) {
        ASSERT_EQ(std::isnan(x[e]), std::isnan(y[e])) << "result " << i << " element " << e;
        ASSERT_TRUE(std::isnan(y[e]) || x[e] == y[e]) << "result " << i << " element " << e;
      } else {
        ASSERT_NEAR(x[e], y[e], tolerance) << "result " << i << " element " << e;
      }
    }
  }
}

constexpr FusedSizes kSizes[] = {{1, 2, 2, 600, 600, 16}, {2, 4, 2, 515, 1100, 8}, {1, 1, 1, 1030, 520, 32}};
constexpr double kTolerances[] = {2e-6, 2e-2};
constexpr DType kTypes[] = {DType::f32, DType::bf16};

constexpr const char* kConditions[] = {
    "i >= j",
    "i >= j && i - j < 100",
    "j < 130 || i >= j",
    "floordiv(i, 200) == floordiv(j, 200)",
    "i > 70 && i >= j",          // rows without keys
    "remainder(i + j, 3) == 0",  // no block is empty or full
    "j < 0",
};

TEST(AttentionFusion, MasksOfPositions) {
  for (const FusedSizes& s : kSizes) {
    for (const char* condition : kConditions) {
      for (int t = 0; t < 2; ++t) {
        FusedProgram f(s, kTypes[t]);
        const ValueId mask = f.expr(condition, DType::i64, DType::boolean);
        f.p.output(f.p.b().add(Op::attention, {f.q, f.k, f.v, mask}));
        SCOPED_TRACE(condition);
        check_fused(f, f.inputs(), kTolerances[t]);
      }
    }
  }
}

TEST(AttentionFusion, AddedMasks) {
  for (const char* text :
       {"i >= j ? 0 : -inf", "i >= j ? h * (j - i) : -inf", "i < j ? -inf : 0.125 * h", "h * (j - i)"}) {
    for (int t = 0; t < 2; ++t) {
      FusedProgram f(kSizes[1], kTypes[t]);
      const ValueId slopes = f.p.input(DType::f32, {f.s.heads, 1, 1});
      ValueId mask = f.expr(text, DType::f32, kTypes[t], {{"h", slopes}});
      mask = f.p.b().expand(mask, {f.s.batch, f.s.heads, f.s.queries, f.s.keys});
      f.p.output(f.p.b().add(Op::attention, {f.q, f.k, f.v, mask}));
      std::vector<Tensor> inputs = f.inputs();
      inputs.push_back(random_tensor(DType::f32, {f.s.heads, 1, 1}, 4));
      SCOPED_TRACE(text);
      check_fused(f, inputs, kTolerances[t]);
    }
  }
}

/// softmax(f(q k^T)) v in operators, with zeros for queries without keys.
ValueId attend_by_operators(FusedProgram& f, const char* text, bool wants_sums) {
  Builder& b = f.p.b();
  const std::int64_t planes = f.s.batch * f.s.heads;
  const ValueId flat_k = b.reshape(b.transpose(b.cast(f.k, DType::f32), -1, -2), {planes, f.s.width, f.s.keys});
  const ValueId flat_q = b.reshape(b.cast(f.q, DType::f32), {planes, f.s.queries, f.s.width});
  const ValueId product = b.reshape(b.matmul(flat_q, flat_k), {f.s.batch, f.s.heads, f.s.queries, f.s.keys});
  const ValueId scaled = b.expr("s * 0.3", {{"s", product}}, DType::f32);
  const ValueId x = f.expr(text, DType::f32, DType::f32, {{"s", scaled}});
  const ValueId top = b.reduce(x, "max", {-1}, true, DType::f32);
  ValueId y = b.add(Op::softmax, {x}, {attr(AttrKey::axis, Dim(3))});
  y = b.expr("t == -inf ? 0 : y", {{"t", top}, {"y", y}}, DType::f32);
  y = b.reshape(b.cast(y, f.dtype), {planes, f.s.queries, f.s.keys});
  const ValueId flat_v = b.reshape(f.v, {planes, f.s.keys, f.s.width});
  y = b.reshape(b.matmul(y, flat_v), {f.s.batch, f.s.heads, f.s.queries, f.s.width});
  f.p.output(y);
  if (!wants_sums) return y;
  const ValueId shift = b.expr("isinf(m) ? 0 : m", {{"m", top}}, DType::f32);
  const ValueId sum =
      b.reduce(b.expr("exp(x - m)", {{"x", x}, {"m", shift}}, DType::f32), "sum", {-1}, true, DType::f32);
  f.p.output(b.expr("log(s) + m", {{"s", sum}, {"m", shift}}, DType::f32));
  f.p.output(b.reduce(x, "max", {-1}, false, DType::f32));
  return y;
}

TEST(AttentionFusion, FunctionsOfScores) {
  for (const FusedSizes& s : {FusedSizes{1, 2, 2, 300, 300, 16}, FusedSizes{2, 3, 3, 65, 700, 8}}) {
    for (const char* text : {"i >= j ? 5 * tanh(s / 5) : -inf", "5 * tanh(s / 5)", "s", "s * 0.25 + 0.01 * (j - i)",
                             "i > 40 && i >= j ? log(s) : -inf"}) {
      for (int t = 0; t < 2; ++t) {
        for (const bool wants_sums : {false, true}) {
          FusedProgram f(s, kTypes[t]);
          attend_by_operators(f, text, wants_sums);
          SCOPED_TRACE(std::string(text) + (wants_sums ? ", sums" : ""));
          check_fused(f, f.inputs(), kTolerances[t] * (text[0] == 'i' ? 4 : 1));
        }
      }
    }
  }
}

bool has_op(const TestProgram& p, Op op) {
  const PreparedModel prepared = prepare_attention(p, Fusion::enabled);
  return std::ranges::any_of(prepared.impl()->functions[0].nodes, [&](const Node& n) { return n.op == op; });
}

TEST(AttentionFusion, OtherReadersOfTheScoresKeepThem) {
  FusedProgram f(kSizes[0], DType::f32);
  attend_by_operators(f, "5 * tanh(s / 5)", false);
  const std::vector<Node>& nodes = f.p.program().functions[0].nodes;
  for (const Node& n : nodes) {
    if (n.op == Op::softmax) f.p.output(n.inputs[0]);
  }
  EXPECT_TRUE(has_op(f.p, Op::softmax));
}

TEST(AttentionFusion, SmallMasksAreComputedOnce) {
  FusedProgram f({1, 2, 2, 128, 128, 16}, DType::f32);
  f.p.output(f.p.b().add(Op::attention, {f.q, f.k, f.v, f.expr("i >= j", DType::i64, DType::boolean)}));
  EXPECT_TRUE(has_op(f.p, Op::pointwise));
}

}  // namespace
}  // namespace tern::testing
