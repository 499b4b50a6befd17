// Errors of nodes: against products in double, and against each other.
#include "tools/verify/nodes.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <span>

#include "tests/random_floats.h"
#include "tests/tools/verify/support.h"
#include "tools/verify/advice.h"
#include "tools/verify/portions.h"

namespace tern {
namespace {

using test::random_floats;
using test::set_module;
using test::Sides;
using test::sides_of;
using testing::floats;
using testing::TestProgram;

constexpr std::int64_t kNodesWidth = 64;

/// Rounds to 8 significant digits, ties to even: bfloat16 by IEEE 754.
double rounded(float v) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(v);
  return static_cast<double>(std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000));
}

/// Successive products of a row with square weights. bfloat16 rounds the weight of such a product on every processor.
struct NodesLayers {
  std::vector<float> x = random_floats(kNodesWidth, 1);
  std::vector<std::vector<float>> w;
  TestProgram p;

  explicit NodesLayers(int count) {
    ValueId v = p.input(DType::f32, {1, kNodesWidth});
    for (int i = 0; i < count; ++i) {
      w.push_back(random_floats(kNodesWidth * kNodesWidth, 2 + static_cast<unsigned>(i)));
      set_module(p, "layer" + std::to_string(i));
      v = p.b().matmul(v, p.b().transpose(p.state({kNodesWidth, kNodesWidth}, w.back(), false), 0, 1));
    }
    p.output(v);
  }
  Calls calls() const { return {{floats({1, kNodesWidth}, x)}}; }
};

std::vector<NodeDeviation> measure(const Sides& s, const Calls& calls, const NodesRequest& request = {}) {
  return measure_nodes(s.test, s.reference, calls, request);
}

TEST(VerifyNodes, OwnErrorIsThatOfRoundedWeights) {
  const NodesLayers layers(1);
  const std::vector<NodeDeviation> nodes = measure(sides_of(layers.p, Precision::bfloat16), layers.calls());
  ASSERT_EQ(nodes.size(), 1u) << "the transposed weight is no node of its own";
  Deviation expected;
  for (std::size_t j = 0; j < kNodesWidth; ++j) {
    double exact = 0, narrow = 0;
    for (std::size_t k = 0; k < kNodesWidth; ++k) {
      const auto x = static_cast<double>(layers.x[k]);
      exact += x * static_cast<double>(layers.w[0][j * kNodesWidth + k]);
      narrow += x * rounded(layers.w[0][j * kNodesWidth + k]);
    }
    expected.add(exact, narrow);
  }
  ASSERT_TRUE(nodes[0].isolated);
  EXPECT_NEAR(nodes[0].isolated->sqnr(), expected.sqnr(), 0.01);
  EXPECT_NEAR(nodes[0].isolated->largest_error, expected.largest_error, 1e-5);
  EXPECT_NEAR(nodes[0].accumulated.sqnr(), expected.sqnr(), 0.01);
}

TEST(VerifyNodes, AKeptNodeHasNoErrorOfItsOwn) {
  const NodesLayers layers(3);
  const std::vector<NodeDeviation> nodes = measure(sides_of(layers.p, Precision::bfloat16, {"layer1"}), layers.calls());
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_FALSE(nodes[0].isolated->exact());
  EXPECT_TRUE(nodes[1].isolated->exact());
  EXPECT_FALSE(nodes[1].accumulated.exact()) << "it reads the error of layer 0";
  EXPECT_FALSE(nodes[2].isolated->exact());
}

TEST(VerifyNodes, TheLastNodeHasTheErrorOfTheResult) {
  const NodesLayers layers(3);
  const Sides s = sides_of(layers.p, Precision::bfloat16);
  const Verification v = verify_results(s.test, s.reference, {}, layers.calls(), [] {});
  const Deviation& result = v.compared.at(0).results.at(0).deviation;
  EXPECT_FALSE(result.exact());
  EXPECT_DOUBLE_EQ(measure(s, layers.calls()).back().accumulated.sqnr(), result.sqnr());
}

TEST(VerifyNodes, SomeNodesAlone) {
  const NodesLayers layers(3);
  const Sides s = sides_of(layers.p, Precision::bfloat16);
  const std::vector<NodeDeviation> all = measure(s, layers.calls());
  NodesRequest request;
  request.measures = [&](std::uint32_t node) { return node == all[1].number; };
  const std::vector<NodeDeviation> one = measure(s, layers.calls(), request);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].number, all[1].number);
  EXPECT_DOUBLE_EQ(one[0].isolated->sqnr(), all[1].isolated->sqnr());
  EXPECT_DOUBLE_EQ(one[0].accumulated.sqnr(), all[1].accumulated.sqnr());
}

TEST(VerifyNodes, AFinishedProgramHasTheNodesOfTheOther) {
  const NodesLayers layers(2);
  Sides s = sides_of(layers.p, Precision::exported);
  // Doubles all states of the test side before its run.
  s.test.finish = [](const std::shared_ptr<const Program>& program) {
    auto copy = std::make_shared<Program>(*program);
    auto source =
        std::make_shared<ExtendableSource>(program->source, static_cast<std::uint32_t>(program->storages.size()));
    for (std::uint32_t i = 0; i < program->storages.size(); ++i) {
      source->replace(i, [](std::span<const std::byte> before) {
        std::vector<float> twice(before.size() / sizeof(float));
        std::memcpy(twice.data(), before.data(), before.size());
        for (float& x : twice) x *= 2;
        const auto bytes = std::as_bytes(std::span(twice));
        return std::vector<std::byte>(bytes.begin(), bytes.end());
      });
    }
    copy->source = source;
    return copy;
  };
  const std::vector<NodeDeviation> nodes = measure(s, layers.calls());
  ASSERT_EQ(nodes.size(), 2u);
  // x and 2x: 0 dB; after two products 4x: the error is three times the value.
  EXPECT_NEAR(nodes[0].isolated->sqnr(), 0, 1e-9);
  EXPECT_NEAR(nodes[1].isolated->sqnr(), 0, 1e-9);
  EXPECT_NEAR(nodes[1].accumulated.sqnr(), -20 * std::log10(3), 1e-6);
}

TEST(VerifyNodes, PortionsGiveTheSameErrors) {
  const NodesLayers layers(4);
  const Sides s = sides_of(layers.p, Precision::bfloat16);
  std::size_t steps = 0;
  NodesRequest small;
  small.bytes = 1;
  small.on_progress = [&](std::size_t, std::size_t total) { steps = total; };
  const std::vector<NodeDeviation> one = measure(s, layers.calls()), many = measure(s, layers.calls(), small);
  EXPECT_EQ(steps, 4u);
  ASSERT_EQ(many.size(), one.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(many[i].number, one[i].number);
    EXPECT_DOUBLE_EQ(many[i].accumulated.sqnr(), one[i].accumulated.sqnr());
    EXPECT_DOUBLE_EQ(many[i].isolated->sqnr(), one[i].isolated->sqnr());
  }
}

TEST(VerifyNodes, PortionsAreBounded) {
  const NodesLayers layers(4);
  const Sides s = sides_of(layers.p, Precision::bfloat16);
  const CallSizes none;
  constexpr std::uint64_t kValue = kNodesWidth * sizeof(float);
  const std::vector<Portion> portions = portions_of(s.reference.f(), {&none, 1}, 3 * kValue);
  ASSERT_EQ(portions.size(), 2u);  // two nodes each: the input and result of the first, and the result of the second
  for (const Portion& p : portions) {
    EXPECT_EQ(p.nodes.size(), 2u);
    EXPECT_EQ(p.values.size(), 3u);
  }
}

TEST(VerifyNodes, AdviceNamesTheNodesToBlame) {
  const NodesLayers layers(3);
  const Sides s = sides_of(layers.p, Precision::bfloat16, {"layer0", "layer2"});
  const Advice advice = advise(s.test, s.reference, measure(s, layers.calls()), layers.calls(),
                               [](const Compared& kept) { return kept.results.at(0).deviation.exact(); });
  EXPECT_EQ(advice.patterns, std::vector<std::string>{"layer1"});
  EXPECT_TRUE(advice.enough) << "nothing else is rounded";
}

TEST(VerifyNodes, AdviceTakesMoreNodesUntilTheyAreEnough) {
  const NodesLayers layers(8);
  const Sides s = sides_of(layers.p, Precision::bfloat16);
  const std::vector<NodeDeviation> nodes = measure(s, layers.calls());
  const auto advice = [&](double least) {
    return advise(s.test, s.reference, nodes, layers.calls(),
                  [least](const Compared& kept) { return kept.results.at(0).deviation.sqnr() >= least; });
  };
  EXPECT_EQ(advice(0).patterns.size(), kFewKept);
  const Advice all = advice(200);  // only float32 is precise enough
  EXPECT_EQ(all.patterns.size(), 8u);
  EXPECT_TRUE(all.enough);
}

TEST(VerifyNodes, AdviceSaysWhatIsNotEnough) {
  const NodesLayers layers(5);
  const Sides s = sides_of(layers.p, Precision::bfloat16);
  const Advice advice =
      advise(s.test, s.reference, measure(s, layers.calls()), layers.calls(), [](const Compared&) { return false; });
  EXPECT_EQ(advice.patterns.size(), kFewKept);
  EXPECT_FALSE(advice.enough);
}

/// state += x @ w; the product of the state with another weight is the result.
TEST(VerifyNodes, StatesOfASequence) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {1, kNodesWidth});
  const std::vector<float> w = random_floats(kNodesWidth * kNodesWidth, 5);
  set_module(p, "in");
  const ValueId state = p.state({1, kNodesWidth}, std::vector<float>(kNodesWidth, 0), true);
  const ValueId product = p.b().matmul(x, p.b().transpose(p.state({kNodesWidth, kNodesWidth}, w, false), 0, 1));
  const ValueId sum = p.b().expr("a + b", {{"a", state}, {"b", product}}, DType::f32);
  p.write_back(0, sum);
  set_module(p, "out");
  const ValueId other = p.state({kNodesWidth, kNodesWidth}, random_floats(kNodesWidth * kNodesWidth, 6), false);
  p.output(p.b().matmul(state, p.b().transpose(other, 0, 1)));
  Calls calls;
  for (unsigned i = 0; i < 3; ++i) calls.push_back({floats({1, kNodesWidth}, random_floats(kNodesWidth, 10 + i))});
  const Sides s = sides_of(p, Precision::bfloat16, {"in"});
  const std::vector<NodeDeviation> nodes = measure(s, calls);
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_TRUE(nodes[0].isolated->exact());
  EXPECT_TRUE(nodes[1].isolated->exact());
  ASSERT_FALSE(nodes[2].isolated->exact())
      << "it reads the state of the calls before, which is not the one of the archive";
  // The first call reads zeros, so its product is exact: the other two calls have all errors.
  EXPECT_EQ(nodes[2].isolated->elements, 3 * kNodesWidth);
  EXPECT_EQ(nodes[2].isolated->unequal, nodes[2].accumulated.unequal);
  EXPECT_LE(nodes[2].isolated->unequal, 2 * kNodesWidth);
  const Verification v = verify_results(s.test, s.reference, {}, calls, [] {});
  ASSERT_EQ(v.compared.at(0).results.size(), 4u) << "three results, and the state after the last call";
  EXPECT_EQ(v.compared[0].results[3].name, "state state0");
  EXPECT_TRUE(v.compared[0].results[3].deviation.exact());
  EXPECT_EQ(v.compared[0].results[2].call, 2u);
}

/// Data-dependent sizes: the product reads a row for each true element of a mask.
TEST(VerifyNodes, SizesThatDependOnData) {
  TestProgram p;
  const Dim n = p.b().pool().symbol("n", 0, 100);
  const ValueId x = p.input(DType::f32, {n, kNodesWidth});
  const Dims found{p.b().pool().new_symbol("u", 0, kNoBound)};
  const ValueId positive = p.b().expr("x > 0", {{"x", x}}, DType::f32, DType::boolean);
  const ValueId chosen = p.b().add(Op::masked_select, {x, positive}, {attr(AttrKey::symbols, found)});
  const ValueId twice = p.b().expr("x + x", {{"x", chosen}}, DType::f32);
  p.output(twice);
  const Calls calls = {{floats({3, kNodesWidth}, random_floats(3 * kNodesWidth, 3))},
                       {floats({2, kNodesWidth}, random_floats(2 * kNodesWidth, 4))}};
  const std::vector<NodeDeviation> nodes = measure(sides_of(p, Precision::bfloat16), calls);
  ASSERT_EQ(nodes.size(), 2u);  // booleans are no floats
  std::int64_t ones = 0;
  for (const auto& call : calls) {
    for (const float v : call[0].span<const float>()) ones += v > 0 ? 1 : 0;
  }
  for (const NodeDeviation& node : nodes) {
    ASSERT_TRUE(node.isolated);
    EXPECT_EQ(node.isolated->elements, ones);
    EXPECT_EQ(node.accumulated.elements, ones);
    EXPECT_TRUE(node.isolated->exact());
  }
}

}  // namespace
}  // namespace tern
