// Fused programs against the same programs as exported: the same bits, and fewer nodes.
#include "runtime/fuse/fuse.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "runtime/prepared.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::floats;
using testing::TestProgram;
using Floats = std::vector<float>;

PreparedModel prepare(const TestProgram& p, Fusion fusion) {
  return PreparedModel(prepare_program(p.model().program(), {}, {.fusion = fusion}));
}

std::vector<Op> ops_of(const TestProgram& p) {
  std::vector<Op> ops;
  const PreparedModel prepared = prepare(p, Fusion::enabled);
  for (const Node& n : prepared.impl()->functions[0].nodes) ops.push_back(n.op);
  return ops;
}

std::vector<std::byte> bytes_of(const Tensor& t) {
  const auto* data = static_cast<const std::byte*>(t.data());
  return {data, data + t.byte_size()};
}

/// Runs twice, as states may change.
void expect_same_bits(const TestProgram& p, const std::vector<Tensor>& inputs) {
  Session fused(prepare(p, Fusion::enabled)), plain(prepare(p, Fusion::disabled));
  for (int round = 0; round < 2; ++round) {
    const std::vector<Tensor>& a = fused.run(inputs);
    const std::vector<Tensor>& b = plain.run(inputs);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].sizes(), b[i].sizes());
      EXPECT_EQ(bytes_of(a[i]), bytes_of(b[i])) << "result " << i << " of run " << round;
    }
    for (const StateInfo& s : p.model().states())
      EXPECT_EQ(bytes_of(fused.read_state(s.name)), bytes_of(plain.read_state(s.name))) << s.name;
  }
}

Floats some_floats(std::int64_t n, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  Floats v(static_cast<std::size_t>(n));
  for (float& x : v) x = normal(engine);
  return v;
}

TEST(Fuse, AChainBecomesOneNode) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {3, 5}), y = p.input(DType::f32, {5});
  ValueId v = p.b().expr("x * y", {{"x", x}, {"y", y}}, DType::f32);
  v = p.b().cast(v, DType::bf16);
  v = p.b().expr("tanh(v)", {{"v", v}}, DType::bf16);
  v = p.b().expr("v > 0 ? x : v", {{"v", v}, {"x", x}}, DType::f32);
  p.output(v);
  EXPECT_EQ(ops_of(p), (std::vector<Op>{Op::pointwise}));
  expect_same_bits(p, {floats({3, 5}, some_floats(15, 1)), floats({5}, some_floats(5, 2))});
}

TEST(Fuse, ReductionsComputeTheirOperands) {
  const std::vector<std::vector<std::int64_t>> shapes = {{3, 700}, {5, 7}, {2, 3, 4, 40}, {600, 3}, {1, 300000}};
  for (const auto& shape : shapes) {
    for (const char* kind : {"sum", "mean", "prod", "max", "argmin", "var"}) {
      for (const std::int64_t axis : {std::int64_t{-1}, std::int64_t{0}}) {
        TestProgram p;
        const Dims dims(shape.begin(), shape.end());
        const ValueId x = p.input(DType::f32, dims), y = p.input(DType::f32, {shape.back()});
        const ValueId v = p.b().expr("x * y + 1", {{"x", x}, {"y", y}}, DType::f32);
        const bool is_place = std::string_view(kind) == "argmin";
        p.output(p.b().reduce(v, kind, {axis}, false, is_place ? DType::i64 : DType::f32));
        EXPECT_EQ(ops_of(p), (std::vector<Op>{Op::reduce})) << kind;
        std::int64_t count = 1;
        for (const std::int64_t n : shape) count *= n;
        expect_same_bits(p,
                         {floats(shape, some_floats(count, 1)), floats({shape.back()}, some_floats(shape.back(), 2))});
      }
    }
  }
}

TEST(Fuse, ReductionsComputePermutedOperands) {
  for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{2, 3}, {1}, {0, 1, 2, 3}, {3}}) {
    TestProgram p;
    const ValueId x = p.input(DType::f32, {2, 30, 5, 17}), y = p.input(DType::f32, {17, 1, 5});
    const ValueId last = p.b().permute(x, {0, 3, 1, 2});
    const ValueId v = p.b().expr("x * 0.5 + y", {{"x", last}, {"y", y}}, DType::f32);
    p.output(p.b().reduce(v, "max", axes, false, DType::f32));
    expect_same_bits(p, {floats({2, 30, 5, 17}, some_floats(5100, 3)), floats({17, 1, 5}, some_floats(85, 4))});
  }
}

TEST(Fuse, WaysThatMeetAgainBecomeOneNode) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {3, 5});
  const ValueId a = p.b().expr("x * 2", {{"x", x}}, DType::f32);
  const ValueId large = p.b().expr("a > 1", {{"a", a}}, DType::f32, DType::boolean);
  const ValueId less = p.b().expr("a - 1", {{"a", a}}, DType::f32);
  p.output(p.b().expr("c ? l : a", {{"c", large}, {"l", less}, {"a", a}}, DType::f32));
  EXPECT_EQ(ops_of(p), (std::vector<Op>{Op::pointwise}));
  expect_same_bits(p, {floats({3, 5}, some_floats(15, 1))});
}

TEST(Fuse, WhatOthersReadStays) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {4, 4});
  const ValueId shared = p.b().expr("x + 1", {{"x", x}}, DType::f32);
  const ValueId result = p.b().expr("x * 3", {{"x", shared}}, DType::f32);
  p.output(p.b().expr("a / b", {{"a", p.b().matmul(shared, shared)}, {"b", result}}, DType::f32));
  p.output(result);
  EXPECT_EQ(ops_of(p), (std::vector<Op>{Op::pointwise, Op::pointwise, Op::matmul}));
  expect_same_bits(p, {floats({4, 4}, some_floats(16, 3))});
}

TEST(Fuse, TheLaterOfTwoProductsTakesTheSum) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {6, 8}), w = p.input(DType::f32, {8, 8});
  const ValueId a = p.b().matmul(x, w), gate = p.b().expr("x * sigmoid(x)", {{"x", a}}, DType::f32);
  const ValueId c = p.b().matmul(x, p.b().transpose(w, 0, 1));
  p.output(p.b().expr("g * c", {{"g", gate}, {"c", c}}, DType::f32));
  EXPECT_EQ(ops_of(p), (std::vector<Op>{Op::matmul, Op::permute, Op::matmul}));
  expect_same_bits(p, {floats({6, 8}, some_floats(48, 3)), floats({8, 8}, some_floats(64, 4))});
}

TEST(Fuse, EpiloguesNeedTheProductsShapeAndType) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {1, 8}), w = p.input(DType::f32, {8, 8}), r = p.input(DType::f32, {4, 8});
  p.output(p.b().expr("p + r", {{"p", p.b().matmul(x, w)}, {"r", r}}, DType::f32));
  p.output(p.b().expr("p + 1", {{"p", p.b().matmul(r, w)}}, DType::f32, DType::bf16));
  EXPECT_EQ(ops_of(p), (std::vector<Op>{Op::matmul, Op::pointwise, Op::matmul, Op::pointwise}));
  expect_same_bits(
      p, {floats({1, 8}, some_floats(8, 3)), floats({8, 8}, some_floats(64, 4)), floats({4, 8}, some_floats(32, 5))});
}

TEST(Fuse, ViewsBetweenAProductAndItsReaderDoNotMatter) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {6, 8}), w = p.input(DType::f32, {8, 8}), r = p.input(DType::f32, {2, 3, 8});
  const ValueId row = p.input(DType::f32, {8});
  const ValueId y = p.b().reshape(p.b().matmul(x, w), {2, 3, 8});
  const ValueId sum = p.b().expr("tanh(y + r) * row", {{"y", y}, {"r", r}, {"row", row}}, DType::f32);
  const ValueId more = p.b().expr("sum + 1", {{"sum", p.b().reshape(sum, {2, 1, 3, 8})}}, DType::f32);
  p.output(p.b().expr("m * 2", {{"m", p.b().transpose(more, 0, 1)}}, DType::f32));
  const std::vector<Op> ops = ops_of(p);
  EXPECT_EQ(std::ranges::count(ops, Op::pointwise), 0);
  EXPECT_EQ(std::ranges::count(ops, Op::matmul), 1);
  expect_same_bits(p, {floats({6, 8}, some_floats(48, 3)), floats({8, 8}, some_floats(64, 4)),
                       floats({2, 3, 8}, some_floats(48, 5)), floats({8}, some_floats(8, 6))});
  EXPECT_EQ(prepare(p, Fusion::enabled).impl()->functions[0].nodes.size(), ops.size());
}

TEST(Fuse, ATransposedProductIsNotAnEpilogue) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {4, 4});
  p.output(p.b().expr("m + x", {{"m", p.b().transpose(p.b().matmul(x, x), 0, 1)}, {"x", x}}, DType::f32));
  EXPECT_EQ(ops_of(p), (std::vector<Op>{Op::matmul, Op::permute, Op::pointwise}));
  expect_same_bits(p, {floats({4, 4}, some_floats(16, 3))});
}

TEST(Fuse, ANumberComputedFirstIsTakenIn) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {4, 70}), s = p.input(DType::f32, {});
  Node place;  // a tensor with one element, its own position
  place.op = Op::pointwise;
  place.set(AttrKey::sizes, Dims{1});
  place.expr.code = {{Scalar::index, DType::i64}, {Scalar::convert, DType::f32}};
  const ValueId zero = p.b().add(std::move(place))[0];
  const ValueId scale = p.b().expr("exp(s) + z", {{"s", s}, {"z", zero}}, DType::f32);
  p.output(p.b().expr("x * s", {{"x", x}, {"s", scale}}, DType::f32));
  EXPECT_EQ(ops_of(p), (std::vector<Op>{Op::pointwise}));
  expect_same_bits(p, {floats({4, 70}, some_floats(280, 3)), floats({}, {0.3F})});
}

TEST(Fuse, QuotientsOfRowsAreComputedOnceForEachRow) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {6, 70}), rows = p.input(DType::f32, {6, 1}), all = p.input(DType::f32, {});
  p.output(p.b().expr("x * (1 / r) + sqrt(a * r)", {{"x", x}, {"r", rows}, {"a", all}}, DType::f32));
  EXPECT_EQ(ops_of(p), (std::vector<Op>(3, Op::pointwise)));
  const PreparedModel prepared = prepare(p, Fusion::enabled);
  const std::vector<Node>& nodes = prepared.impl()->functions[0].nodes;
  for (const Instruction& i : nodes.back().expr.code) EXPECT_TRUE(i.op != Scalar::div && i.op != Scalar::sqrt);
  expect_same_bits(p, {floats({6, 70}, some_floats(420, 3)), floats({6, 1}, {1, 2, 3, -4, 5, 0}), floats({}, {0.3F})});
}

TEST(Fuse, QuotientsOfShortRowsStay) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {6, 3}), rows = p.input(DType::f32, {6, 1});
  p.output(p.b().expr("x * (1 / r)", {{"x", x}, {"r", rows}}, DType::f32));
  EXPECT_EQ(ops_of(p), (std::vector<Op>{Op::pointwise}));
}

TEST(Fuse, StatesAreReadBeforeTheyAreWritten) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {5}), s = p.state({5}, {1, 2, 3, 4, 5}, true);
  const ValueId old = p.b().expr("s * 2", {{"s", s}}, DType::f32);
  const ValueId next = p.b().expr("s + x", {{"s", s}, {"x", x}}, DType::f32);
  p.write_back(0, next);
  p.output(p.b().expr("o + n", {{"o", old}, {"n", next}}, DType::f32));
  Session session(prepare(p, Fusion::enabled));
  const std::vector<Tensor>& out = session.run({floats({5}, {1, 1, 1, 1, 1})});
  EXPECT_EQ(testing::values_of(out[0]), (Floats{4, 7, 10, 13, 16}));
  EXPECT_EQ(session.stats().bytes_copied, 0u) << "the state was not updated where it lies";
  expect_same_bits(p, {floats({5}, some_floats(5, 3))});
}

TEST(Fuse, SizesOfOperandsThatWentAreKept) {
  TestProgram p;
  Node ones;
  ones.op = Op::pointwise;
  ones.set(AttrKey::sizes, Dims{3, 4});
  ones.expr.code = {{Scalar::index, DType::i64, 0, 0, 0, 1}, {Scalar::convert, DType::f32}};
  const ValueId columns = p.b().add(std::move(ones))[0], x = p.input(DType::f32, {1});
  p.output(p.b().expr("x + c", {{"x", x}, {"c", columns}}, DType::f32));
  EXPECT_EQ(ops_of(p), (std::vector<Op>{Op::pointwise}));
  expect_same_bits(p, {floats({1}, {2.5F})});
}

TEST(Fuse, MessagesKeepTheNumbersOfTheExportedNodes) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {4, 4}), i = p.input(DType::i64, {2});
  ValueId v = p.b().expr("x + 1", {{"x", x}}, DType::f32);
  v = p.b().expr("v * 2", {{"v", v}}, DType::f32);
  p.output(p.b().index_select(v, i, 0));
  const PreparedModel prepared = prepare(p, Fusion::enabled);
  ASSERT_EQ(prepared.impl()->functions[0].nodes.size(), 2u);
  Session s(prepared);
  Tensor index(DType::i64, {2});
  index.span<std::int64_t>()[0] = 1;
  index.span<std::int64_t>()[1] = 99;
  try {
    s.run({floats({4, 4}, some_floats(16, 1)), index});
    FAIL() << "an index out of range was accepted";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("node 2 of 'forward' (index_select"), std::string::npos) << e.what();
  }
}

/// Large results bypass the caches: each tile is stored after the next tile's computation.
TEST(Fuse, ResultsLargerThanTheCachesAreWhole) {
  constexpr std::int64_t kMany = (std::int64_t{8} << 20) + 77;
  TestProgram p;
  const ValueId x = p.input(DType::f32, {kMany});
  const ValueId y = p.b().expr("x * 2 + 1", {{"x", x}}, DType::f32);
  p.output(p.b().expr("max(abs(y), x)", {{"y", y}, {"x", x}}, DType::f32));
  p.output(p.b().cast(x, DType::f64));
  Tensor in(DType::f32, {kMany});
  for (std::int64_t i = 0; i < kMany; ++i)
    in.span<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i % 1001) - 500;
  Session s(prepare(p, Fusion::enabled));
  const std::vector<Tensor>& out = s.run({in});
  const auto from = in.span<float>();
  const auto a = out[0].span<const float>();
  const auto b = out[1].span<const double>();
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const float want = std::max(std::abs(from[i] * 2 + 1), from[i]);
    wrong += a[i] != want || b[i] != double{from[i]} ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0);
}

/// A program of nodes chosen by chance: expressions over earlier values, products, convolutions, views and reductions.
void random_program(TestProgram& p, std::mt19937& engine) {
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(engine); };
  Builder& b = p.b();
  std::vector<ValueId> full;  // shape [2, 6, 5, 5]
  const Dims shape{2, 6, 5, 5};
  full.push_back(p.input(DType::f32, shape));
  const std::vector<ValueId> small = {p.input(DType::f32, {6, 1, 1}), p.input(DType::f32, {5}), p.input(DType::f32, {}),
                                      p.input(DType::f32, {2, 1, 5, 1})};
  const ValueId state = p.state({6, 6, 3, 3}, some_floats(6 * 6 * 9, 7), false), moving = p.state({5}, Floats(5), true),
                square = p.state({5, 5}, some_floats(25, 8), false);
  const auto pick = [&] { return full[full.size() - 1 - std::min(below(full.size()), below(full.size()))]; };
  const char* const kUnary[] = {"x * 0.5 + 1",         "tanh(x)", "x * sigmoid(x)", "max(x, 0)",
                                "abs(x) < 1 ? x : -x", "erf(x)"};
  const char* const kBinary[] = {"x + y", "x * y", "x - y", "min(x, y)", "x > y ? x : y * 0.25"};
  const std::size_t count = 4 + below(24);
  for (std::size_t i = 0; i < count; ++i) {
    ValueId v = pick();
    switch (below(10)) {
      case 0:
      case 1:
      case 2: v = b.expr(kUnary[below(6)], {{"x", v}}, DType::f32); break;
      case 3: v = b.expr(kBinary[below(5)], {{"x", v}, {"y", small[below(4)]}}, DType::f32); break;
      case 4: v = b.expr(kBinary[below(5)], {{"x", v}, {"y", pick()}}, DType::f32); break;
      case 5: v = b.cast(b.cast(v, below(2) == 0 ? DType::bf16 : DType::f16), DType::f32); break;
      case 6: v = b.matmul(v, pick()); break;
      case 9: v = b.reshape(b.reshape(b.matmul(b.reshape(v, {60, 5}), square), {12, 25}), shape); break;
      case 7:
        v = b.add(Op::convolution, {v, state},
                  {attr(AttrKey::strides, std::vector<std::int64_t>{1, 1}),
                   attr(AttrKey::dilations, std::vector<std::int64_t>{1, 1}),
                   attr(AttrKey::before, std::vector<std::int64_t>{1, 1}),
                   attr(AttrKey::after, std::vector<std::int64_t>{1, 1}), attr(AttrKey::groups, Dim(1))});
        break;
      default: {
        const ValueId mean = b.reduce(v, "mean", {2, 3}, true, DType::f32);
        v = b.expr("x - m", {{"x", v}, {"m", b.expr("m * 0.5", {{"m", mean}}, DType::f32)}}, DType::f32);
      }
    }
    full.push_back(b.expr("x > 100 ? 1 : x < -100 ? -1 : x", {{"x", v}}, DType::f32));
  }
  p.output(full.back());
  if (below(2) == 0) p.output(pick());
  const ValueId row = b.reduce(pick(), "max", {0, 1, 2}, false, DType::f32);
  p.write_back(1, b.expr("s * 0.5 + r", {{"s", moving}, {"r", row}}, DType::f32));
}

TEST(Fuse, RandomProgramsGiveTheSameBits) {
  std::size_t exported = 0, fused = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 engine(seed);
    TestProgram p;
    random_program(p, engine);
    exported += p.program().functions[0].nodes.size();
    fused += ops_of(p).size();
    SCOPED_TRACE(seed);
    expect_same_bits(p, {floats({2, 6, 5, 5}, some_floats(300, seed)), floats({6, 1, 1}, some_floats(6, 1)),
                         floats({5}, some_floats(5, 2)), floats({}, {0.7F}), floats({2, 1, 5, 1}, some_floats(10, 3))});
    if (HasFailure()) return;
  }
  EXPECT_LT(fused * 3, exported * 2);
}

}  // namespace
}  // namespace tern
