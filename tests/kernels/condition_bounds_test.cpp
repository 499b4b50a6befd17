// Bounds of conditions over blocks of scores, against the value of every element.
#include "kernels/cpu/attention/condition_bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/kernels/pointwise_support.h"

namespace tern::test {
namespace {

using cpu::ConditionBounds;
using cpu::ScoreBlock;
using cpu::Visibility;

constexpr std::int64_t kHeads = 2, kQueries = 150, kKeys = 200;

struct ConditionOperand {
  DType dtype;
  std::vector<std::int64_t> sizes;
  std::vector<double> values;
};

std::vector<double> positions(std::int64_t n, std::int64_t divisor = 1) {
  std::vector<double> v;
  for (std::int64_t i = 0; i < n; ++i) v.push_back(static_cast<double>(i / divisor));
  return v;
}

/// Positions of queries and keys, documents, a length per head, and floats with NaN and infinities.
std::vector<ConditionOperand> condition_operands() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> floats = random_numbers(kHeads * kKeys, 5, 3, 4);
  floats[30] = std::numeric_limits<double>::quiet_NaN();
  floats[100] = kInfinity;
  floats[170] = -kInfinity;
  return {{DType::i64, {kQueries, 1}, positions(kQueries)},
          {DType::i64, {kKeys}, positions(kKeys)},
          {DType::i32, {1, kQueries, 1}, positions(kQueries, 70)},
          {DType::u8, {1, 1, kKeys}, positions(kKeys, 70)},
          {DType::i64, {kHeads, 1, 1}, {64, 129}},
          {DType::f32, {kHeads, 1, kKeys}, floats}};
}

struct ConditionRun {
  std::vector<Number> exact;  ///< [heads, queries, keys]
  std::vector<TensorView> operands;
  std::deque<std::vector<std::byte>> memory;
  TensorView scores;
};

ConditionRun evaluate(const PointwiseExpr& condition) {
  ConditionRun r;
  NodeRun run(Op::pointwise);
  for (const ConditionOperand& o : condition_operands()) {
    run.input(o.dtype, o.sizes, o.values);
    TensorView v;
    v.dtype = o.dtype;
    v.rank = static_cast<std::int32_t>(o.sizes.size());
    std::copy(o.sizes.begin(), o.sizes.end(), v.sizes.begin());
    make_contiguous(v);
    r.memory.emplace_back(static_cast<std::size_t>(v.numel() * element_size(v.dtype)));
    v.data = r.memory.back().data();
    for (std::int64_t i = 0; i < v.numel(); ++i) {
      visit_dtype(v.dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        v.data_as<T>()[i] = cast_to<T>(o.values[static_cast<std::size_t>(i)]);
      });
    }
    r.operands.push_back(v);
  }
  run.node().expr = condition;
  run.set(AttrKey::sizes, std::vector<std::int64_t>{kHeads, kQueries, kKeys});
  r.exact = run.run().output();
  r.scores.rank = 3;
  r.scores.sizes = {kHeads, kQueries, kKeys};
  make_contiguous(r.scores);
  return r;
}

/// Compares blocks of several sizes with all elements. Returns how many blocks the bounds decide.
int check_blocks(const PointwiseExpr& condition) {
  const ConditionRun r = evaluate(condition);
  const ConditionBounds bounds(condition, r.scores);
  ScratchArena count;
  ConditionBounds::Ranges counted(bounds, r.operands, count);
  std::vector<std::byte> memory(count.used() + 64);
  ScratchArena arena(memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64));
  const ConditionBounds::Ranges ranges(bounds, r.operands, arena);
  int decided = 0;
  for (std::int64_t plane = 0; plane < kHeads; ++plane) {
    for (std::int64_t q = 0; q < kQueries; q += 37) {
      for (std::int64_t k = 0; k < kKeys; k += ConditionBounds::kBlockKeys) {
        const ScoreBlock block{plane, q, std::min<std::int64_t>(37, kQueries - q), k,
                               std::min<std::int64_t>(ConditionBounds::kBlockKeys, kKeys - k)};
        std::int64_t visible = 0;
        for (std::int64_t i = q; i < q + block.queries; ++i) {
          for (std::int64_t j = k; j < k + block.keys; ++j)
            visible += r.exact[static_cast<std::size_t>((plane * kQueries + i) * kKeys + j)].real() != 0 ? 1 : 0;
        }
        const Visibility v = ranges.visibility(block);
        decided += v == Visibility::mixed ? 0 : 1;
        const std::int64_t expected = v == Visibility::none  ? 0
                                      : v == Visibility::all ? block.queries * block.keys
                                                             : visible;
        EXPECT_EQ(visible, expected) << "queries from " << q << ", keys from " << k;
      }
    }
  }
  return decided;
}

TEST(ConditionBounds, CommonMasksAreDecided) {
  Code causal;
  causal.push(Scalar::ge, DType::boolean, causal.load(0, DType::i64), causal.load(1, DType::i64));
  EXPECT_EQ(check_blocks(causal.expr), 2 * 13);

  Code window;
  const auto i = window.load(0, DType::i64), j = window.load(1, DType::i64);
  const auto after = window.push(Scalar::ge, DType::boolean, i, j);
  const auto distance = window.push(Scalar::sub, DType::i64, i, j);
  const auto near = window.push(Scalar::lt, DType::boolean, distance, window.constant(DType::i64, 20));
  window.push(Scalar::and_, DType::boolean, after, near);
  EXPECT_EQ(check_blocks(window.expr), 2 * 12);

  Code documents;
  const auto of_query = documents.operand(2, DType::i32), of_key = documents.operand(3, DType::u8);
  documents.push(Scalar::eq, DType::boolean, of_query, of_key);
  EXPECT_EQ(check_blocks(documents.expr), 2 * 10);

  Code prefix;
  const auto column = prefix.load(1, DType::i64);
  const auto in_prefix = prefix.push(Scalar::lt, DType::boolean, column, prefix.load(4, DType::i64));
  const auto before = prefix.push(Scalar::le, DType::boolean, column, prefix.load(0, DType::i64));
  prefix.push(Scalar::or_, DType::boolean, in_prefix, before);
  EXPECT_GE(check_blocks(prefix.expr), 2 * 11);

  Code by_position;
  by_position.push(Scalar::index, DType::i64);
  by_position.expr.code.back().integer = 2;
  by_position.push(Scalar::lt, DType::boolean, 0, by_position.constant(DType::i64, 64));
  EXPECT_EQ(check_blocks(by_position.expr), 2 * 5 * 4);
}

/// Random expressions, undefined values included.
TEST(ConditionBounds, NoBlockIsDecidedWrongly) {
  std::mt19937 engine(7);
  const auto below = [&](std::size_t n) { return static_cast<std::uint16_t>(engine() % n); };
  constexpr Scalar kIntegers[] = {Scalar::add, Scalar::sub,      Scalar::mul,      Scalar::min,
                                  Scalar::max, Scalar::floordiv, Scalar::truncdiv, Scalar::remainder};
  constexpr Scalar kFloats[] = {Scalar::add, Scalar::sub, Scalar::mul, Scalar::min, Scalar::max, Scalar::div};
  constexpr Scalar kComparisons[] = {Scalar::eq, Scalar::ne, Scalar::lt, Scalar::le, Scalar::gt, Scalar::ge};
  constexpr Scalar kLogic[] = {Scalar::and_, Scalar::or_, Scalar::xor_, Scalar::add, Scalar::mul};
  int decided = 0;
  for (int trial = 0; trial < 400; ++trial) {
    Code code;
    std::vector<std::uint16_t> integers = {
        code.load(0, DType::i64),    code.load(1, DType::i64),
        code.operand(2, DType::i32), code.operand(3, DType::u8),
        code.load(4, DType::i64),    code.constant(DType::i64, static_cast<double>(below(90)) - 10)};
    std::vector<std::uint16_t> floats = {code.load(5, DType::f32), code.constant(DType::f32, 0.75 * below(5)),
                                         code.push(Scalar::convert, DType::f32, integers[below(6)])};
    std::vector<std::uint16_t> truths;
    const auto any = [&](const std::vector<std::uint16_t>& v) { return v[below(v.size())]; };
    for (int step = 0; step < 5; ++step) {
      integers.push_back(code.push(kIntegers[below(8)], DType::i64, any(integers), any(integers)));
      if (below(3) == 0)
        integers.push_back(code.push(below(2) == 0 ? Scalar::abs : Scalar::neg, DType::i64, any(integers)));
      floats.push_back(code.push(kFloats[below(6)], DType::f32, any(floats), any(floats)));
      truths.push_back(code.push(kComparisons[below(6)], DType::boolean, any(integers), any(integers)));
      truths.push_back(code.push(kComparisons[below(6)], DType::boolean, any(floats), any(floats)));
      truths.push_back(code.push(kLogic[below(5)], DType::boolean, any(truths), any(truths)));
      truths.push_back(code.push(Scalar::not_, DType::boolean, any(truths)));
      integers.push_back(code.push(Scalar::where, DType::i64, any(truths), any(integers), any(integers)));
    }
    code.push(kLogic[below(5)], DType::boolean, any(truths), any(truths));
    decided += check_blocks(code.expr);
  }
  EXPECT_GT(decided, 200);
}

}  // namespace
}  // namespace tern::test
