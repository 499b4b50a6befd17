// Slices of a dequantized stack are computed of slices: the numbers stay, and nothing of the whole stack is computed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>

#include "exporter/passes/passes.h"
#include "tests/random_floats.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::floats;
using testing::TestProgram;
using testing::values_of;
using Floats = std::vector<float>;

constexpr std::int64_t kPlanesExperts = 3, kPlanesRows = 5, kPlanesColumns = 24, kPlanesDepth = 64;

/// int8 elements and their factors: [experts, columns, 1], or any of these sizes 1.
struct Stack {
  TestProgram p;
  ValueId x = p.input(DType::f32, {kPlanesRows, kPlanesDepth});

  ValueId elements() {
    std::vector<std::int8_t> q(static_cast<std::size_t>(kPlanesExperts * kPlanesColumns * kPlanesDepth));
    for (std::size_t i = 0; i < q.size(); ++i) q[i] = static_cast<std::int8_t>(static_cast<int>(i * 37 % 251) - 125);
    return p.b().cast(p.b().constant(DType::i8, {kPlanesExperts, kPlanesColumns, kPlanesDepth}, q.data()), DType::f32);
  }
  ValueId numbers(const std::vector<std::int64_t>& sizes, int seed) {
    std::int64_t count = 1;
    for (const std::int64_t n : sizes) count *= n;
    return p.b().constant(DType::f32, sizes, test::random_floats(count, seed).data());
  }
  ValueId times(ValueId a, ValueId s) { return p.b().expr("a * s", {{"a", a}, {"s", s}}, DType::f32); }
  ValueId weight() { return times(elements(), numbers({kPlanesExperts, kPlanesColumns, 1}, 2)); }

  /// x times the plane.
  ValueId product(ValueId stack, std::int64_t plane) {
    return p.b().matmul(x, p.b().transpose(p.b().select(stack, 0, Dim(plane)), 0, 1));
  }
  void products(ValueId stack) {
    for (const std::int64_t plane : {2, 0, 1, 2}) p.output(product(stack, plane));
  }

  std::vector<Floats> run() {
    Session s(p.model().prepare());
    std::vector<Floats> all;
    for (const Tensor& t :
         s.run({floats({kPlanesRows, kPlanesDepth}, test::random_floats(kPlanesRows * kPlanesDepth, 1))}))
      all.push_back(values_of(t));
    return all;
  }
  /// True if a pointwise node computes floats of all planes; movement does not count.
  bool computes_whole() {
    const Function& f = p.program().functions[0];
    return std::ranges::any_of(f.nodes, [&](const Node& n) {
      const TensorType& t = f.values[static_cast<std::size_t>(n.outputs[0])].type;
      return n.op == Op::pointwise && t.rank() >= 3 && t.shape[0] == Dim(kPlanesExperts) && t.shape[2] != Dim(1);
    });
  }
};

/// Slices the weight from `make` into planes first; results keep their bits.
void expect_planes(const std::function<ValueId(Stack&)>& make) {
  Stack before, after;
  before.products(make(before));
  after.products(make(after));
  ASSERT_TRUE(after.computes_whole());
  take_planes_first(after.p.program());
  EXPECT_FALSE(after.computes_whole());
  EXPECT_EQ(after.run(), before.run());
}

void expect_unchanged(Stack& s) {
  const std::size_t nodes = s.p.program().functions[0].nodes.size();
  take_planes_first(s.p.program());
  EXPECT_TRUE(s.computes_whole());
  EXPECT_EQ(s.p.program().functions[0].nodes.size(), nodes);
}

TEST(Planes, AreComputedOfPlanes) {
  expect_planes([](Stack& s) { return s.weight(); });
}

TEST(Planes, ScalesOfAllPlanesStay) {
  expect_planes([](Stack& s) {
    return s.times(s.times(s.elements(), s.numbers({kPlanesDepth}, 2)), s.numbers({1, 1, 1}, 3));
  });
}

TEST(Planes, GoThroughMovesOfOtherAxes) {
  expect_planes([](Stack& s) {
    Builder& b = s.p.b();
    constexpr std::int64_t kGroup = 16, kGroups = kPlanesDepth / kGroup;
    const ValueId groups = b.reshape(s.elements(), {kPlanesExperts, kPlanesColumns, kGroups, kGroup});
    const ValueId scaled = s.times(groups, s.numbers({kPlanesExperts, kPlanesColumns, kGroups, 1}, 2));
    const ValueId turned = b.transpose(b.reshape(scaled, {kPlanesExperts, kPlanesColumns, kPlanesDepth}), 1, 2);
    const ValueId halves = b.concat({turned, s.times(turned, s.numbers({kPlanesExperts, 1, 1}, 3))}, 2);
    return b.transpose(b.reshape(halves, {kPlanesExperts, kPlanesDepth, 2 * kPlanesColumns}), 1, 2);
  });
}

/// Operands that count positions along the axis, or broadcast along the axis.
TEST(Planes, NumbersThatCountPlanesAreSliced) {
  expect_planes([](Stack& s) {
    Builder& b = s.p.b();
    const ValueId scales = s.numbers({kPlanesExperts, 1, 1}, 2);
    return s.times(s.weight(), b.expr("s * (1 + index(0))", {{"s", scales}}, DType::f32));
  });
  expect_planes([](Stack& s) {
    Builder& b = s.p.b();
    b.expr("s * 2", {{"s", s.numbers({1, kPlanesColumns, 1}, 2)}}, DType::f32);
    Node wide = b.function().nodes.back();
    wide.outputs.clear();
    wide.set(AttrKey::sizes, Dims{kPlanesExperts, kPlanesColumns, 1});
    return s.times(s.elements(), b.add(wide).front());
  });
  expect_planes([](Stack& s) {
    Builder& b = s.p.b();
    return s.times(s.weight(), b.reshape(b.iota(Dim(kPlanesExperts), DType::f32, 1, 2), {kPlanesExperts, 1, 1}));
  });
  expect_planes([](Stack& s) { return s.times(s.elements(), s.p.b().full({kPlanesExperts, 1, 1}, 0.25, DType::f32)); });
}

TEST(Planes, BecomeQuantizedValuesThatReplaceTheStack) {
  Stack s;
  s.products(s.weight());
  const std::vector<Floats> before = s.run();
  take_planes_first(s.p.program());
  read_quantized_weights(s.p.program());
  remove_superseded_weights(s.p.program());
  const Function& f = s.p.program().functions[0];
  EXPECT_EQ(std::ranges::count(f.nodes, Op::pointwise, &Node::op), 0);
  EXPECT_EQ(std::ranges::count(f.nodes, Op::matmul, &Node::op), 4);
  std::int64_t quantized = 0;
  for (const State& state : s.p.program().states) quantized += state.type.quantized() ? 1 : 0;
  EXPECT_EQ(quantized, kPlanesExperts) << "two products read plane 2";
  EXPECT_EQ(std::ssize(s.p.program().states), kPlanesExperts) << "the stack is not stored as well";
  const std::vector<Floats> now = s.run();
  ASSERT_EQ(now.size(), before.size());
  for (std::size_t i = 0; i < now.size(); ++i) {
    for (std::size_t j = 0; j < now[i].size(); ++j) EXPECT_NEAR(now[i][j], before[i][j], 2e-2F);
  }
}

/// Prefill and decode read the same experts.
TEST(Planes, FunctionsShareThem) {
  Stack s;
  s.products(s.weight());
  s.p.program().functions.push_back(s.p.program().functions[0]);
  s.p.program().functions[1].name = "other";
  take_planes_first(s.p.program());
  read_quantized_weights(s.p.program());
  EXPECT_EQ(std::ssize(s.p.program().states), kPlanesExperts);
}

TEST(Planes, AStackThatSomethingElseReadsStays) {
  Stack read;
  const ValueId w = read.weight();
  read.products(w);
  read.p.output(read.p.b().reduce(w, "sum", {0, 1, 2}, false, DType::f32));
  expect_unchanged(read);
  Stack argument;
  const ValueId v = argument.weight();
  argument.products(v);
  argument.p.output(v);
  expect_unchanged(argument);
  Stack two;
  const ValueId u = two.weight();
  two.products(u);
  two.p.output(two.p.b().slice(u, 0, 1, 2));
  expect_unchanged(two);
}

TEST(Planes, AStackThatIsWrittenBackStays) {
  Stack s;
  const Floats zeros(static_cast<std::size_t>(kPlanesExperts * kPlanesColumns * kPlanesDepth));
  s.p.state({kPlanesExperts, kPlanesColumns, kPlanesDepth}, zeros, true);
  const auto retained = static_cast<std::uint32_t>(s.p.program().states.size() - 1);
  const ValueId w = s.weight();
  s.products(w);
  s.p.write_back(retained, w);
  expect_unchanged(s);
}

/// A dynamic index names no known plane.
TEST(Planes, AnIndexOfTheCallerStays) {
  Stack s;
  const ValueId w = s.weight();
  s.products(w);
  const ValueId i = s.p.input(DType::i64, {1});
  s.p.output(s.p.b().index_select(w, i, 0));
  expect_unchanged(s);
}

}  // namespace
}  // namespace tern
