// Values computed again instead of held: fewer bytes, equal results, no repeated side effects.
#include "exporter/recompute/limit_memory.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include <algorithm>
#include <cstring>

#include "exporter/gradients/differentiate.h"
#include "schema/passes/dead_code.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::TestProgram;

constexpr int kLayers = 8;
constexpr std::int64_t kLimitMemoryRows = 64, kLimitMemoryColumns = 32;
constexpr std::uint64_t kLayerBytes = kLimitMemoryRows * kLimitMemoryColumns * sizeof(float);

/// The gradient of `layers` of a product, tanh and dropout by x: reads each layer's values, the last layer first.
struct Network {
  TestProgram p;

  Network() {
    Builder& b = p.b();
    const Dim rows = b.pool().symbol("rows", 1, 4096);
    const ValueId x = p.input(DType::f32, {rows, kLimitMemoryColumns});
    std::vector<float> weight(kLimitMemoryColumns * kLimitMemoryColumns);
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<float>(i * 37 % 101) / 300 - 0.15F;
    const ValueId w = p.state({kLimitMemoryColumns, kLimitMemoryColumns}, weight, false);
    ValueId h = x;
    for (int i = 0; i < kLayers; ++i) {
      h = b.expr("tanh(h) + x", {{"h", b.matmul(h, w)}, {"x", h}}, DType::f32);
      const ValueId drawn = b.add(Op::random, {},
                                  {attr_text(AttrKey::kind, "dropout"),
                                   attr(AttrKey::sizes, {rows, kLimitMemoryColumns}), attr_dtype(DType::f32)});
      h = b.expr("r < 0.75 ? h / 0.75 : 0", {{"h", h}, {"r", drawn}}, DType::f32);
    }
    const ValueId loss = b.reduce(h, "sum", {0, 1}, false, DType::f32);
    const GradientSeed seed{loss, b.full({}, 1, DType::f32)};
    p.output(loss);
    p.output(differentiate(b, std::span(&seed, 1), std::span(&x, 1)).at(0));
    remove_dead_code(p.program());
  }
  std::size_t count(Op op) {
    return static_cast<std::size_t>(std::ranges::count(p.program().functions[0].nodes, op, &Node::op));
  }
};

struct Outcome {
  std::vector<std::byte> results;
  std::uint64_t arena = 0;
};

Outcome run(const Program& program) {
  const Model model(std::make_shared<const Program>(program));
  Session session(model.prepare());
  session.set_seed(7);
  Tensor x(DType::f32, {kLimitMemoryRows, kLimitMemoryColumns});
  for (std::size_t i = 0; i < x.span<float>().size(); ++i) x.span<float>()[i] = static_cast<float>(i % 17) / 8 - 1;
  Outcome r;
  for (const Tensor& t : session.run({x})) {
    const auto* bytes = static_cast<const std::byte*>(t.data());
    r.results.insert(r.results.end(), bytes, bytes + t.byte_size());
  }
  r.arena = session.stats().arena_bytes;
  return r;
}

MemoryLimit limit_of(std::optional<std::uint64_t> bytes) {
  return {bytes, {{"rows", kLimitMemoryRows}}, [](const Program& p, std::uint32_t) { return run(p).arena; }};
}

TEST(LimitMemory, LeavesWhatFitsAsItIs) {
  Network n;
  const std::size_t nodes = n.p.program().functions[0].nodes.size();
  const std::uint64_t arena = run(n.p.program()).arena;
  const RecomputeReport r = limit_memory(n.p.program(), 0, limit_of(arena));
  EXPECT_EQ(r.bytes_before, arena);
  EXPECT_EQ(r.nodes, 0u);
  EXPECT_EQ(n.p.program().functions[0].nodes.size(), nodes);
}

TEST(LimitMemory, KeepsBitsWithFewerBytes) {
  Network n;
  const Outcome before = run(n.p.program());
  ASSERT_GT(before.arena, 2 * kLayers * kLayerBytes) << "each layer holds two values for its gradient";
  const std::size_t products = n.count(Op::matmul);
  for (const std::uint64_t share : {90, 75}) {
    Network limited;
    const std::uint64_t bytes = before.arena * share / 100;
    const RecomputeReport r = limit_memory(limited.p.program(), 0, limit_of(bytes));
    const Outcome after = run(limited.p.program());
    EXPECT_LE(after.arena, bytes);
    EXPECT_EQ(after.arena, r.bytes_after);
    EXPECT_EQ(after.results, before.results);
  }
  const RecomputeReport r = limit_memory(n.p.program(), 0, limit_of({}));
  const Outcome after = run(n.p.program());
  EXPECT_LT(after.arena, before.arena * 2 / 3);
  EXPECT_EQ(after.results, before.results);
  EXPECT_GT(r.nodes, 0u);
  EXPECT_GT(r.cost, 1);
  EXPECT_GE(n.count(Op::matmul), products);
  EXPECT_EQ(n.count(Op::random), std::size_t{kLayers}) << "no number is drawn twice";
}

/// Products and pointwise values of the same sizes, held until reads in reverse order.
TEST(LimitMemory, TakesTheCheapestFirst) {
  constexpr std::int64_t kSize = 256;
  TestProgram p;
  Builder& b = p.b();
  const ValueId x = p.input(DType::f32, {kSize, kSize});
  std::vector<ValueId> result;
  for (int i = 0; i < 4; ++i) {
    result.push_back(b.matmul(x, i == 0 ? x : result.back()));
    result.push_back(b.expr("exp(x * k)", {{"x", x}, {"k", i * 0.1}}, DType::f32));
  }
  ValueId last = result.back();
  for (std::size_t i = result.size(); i-- > 0;) last = b.matmul(last, result[i]);
  p.output(last);
  const MemoryLimit three_fewer{
      std::uint64_t{7} * kSize * kSize * sizeof(float), {}, [](const Program& program, std::uint32_t) {
        Session s(Model(std::make_shared<const Program>(program)).prepare());
        s.run({Tensor(DType::f32, {kSize, kSize})});
        return s.stats().arena_bytes;
      }};
  const RecomputeReport r = limit_memory(p.program(), 0, three_fewer);
  EXPECT_GT(r.bytes_before, *three_fewer.bytes);
  EXPECT_LE(r.bytes_after, *three_fewer.bytes);
  EXPECT_EQ(std::ranges::count(p.program().functions[0].nodes, Op::matmul, &Node::op), 12);
}

TEST(LimitMemory, NamesTheLeastThatIsPossible) {
  Network n, again;
  const RecomputeReport smallest = limit_memory(again.p.program(), 0, limit_of({}));
  try {
    limit_memory(n.p.program(), 0, limit_of(smallest.bytes_after - 1));
    ADD_FAILURE() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    const std::string text = e.what();
    EXPECT_NE(text.find("at least " + std::to_string(smallest.bytes_after) + " bytes"), std::string::npos) << text;
    EXPECT_NE(text.find("at rows=64"), std::string::npos) << text;
  }
  EXPECT_NO_THROW(limit_memory(n.p.program(), 0, limit_of(smallest.bytes_after)));
}

TEST(LimitMemory, LeavesUpdatesOfStateAsTheyAre) {
  TestProgram p;
  Builder& b = p.b();
  const ValueId x = p.input(DType::f32, {256});
  const ValueId s = p.state({256}, std::vector<float>(256, 1), true);
  std::vector<ValueId> result;
  for (int i = 0; i < 6; ++i)
    result.push_back(b.expr("exp(x * k) + s", {{"x", x}, {"k", i * 0.1}, {"s", s}}, DType::f32));
  p.write_back(0, b.expr("s + m", {{"s", s}, {"m", result[0]}}, DType::f32));
  ValueId sum = b.reduce(result[5], "sum", {0}, true, DType::f32);
  for (int i = 6; i-- > 0;)
    sum = b.expr("sum * m",
                 {{"sum", b.reduce(sum, "sum", {0}, true, DType::f32)}, {"m", result[static_cast<std::size_t>(i)]}},
                 DType::f32);
  p.output(sum);
  const auto twice = [](const Program& program) {
    Session session(Model(std::make_shared<const Program>(program)).prepare());
    Tensor in(DType::f32, {256});
    in.span<float>()[3] = 2;
    session.run({in});
    std::vector<float> values = testing::values_of(session.run({in})[0]);
    const std::vector<float> state = testing::values_of(session.read_state("state0"));
    values.insert(values.end(), state.begin(), state.end());
    return std::pair(values, session.stats().arena_bytes);
  };
  const auto before = twice(p.program());
  MemoryLimit limit{{}, {}, [&](const Program& program, std::uint32_t) { return twice(program).second; }};
  limit_memory(p.program(), 0, limit);
  const auto after = twice(p.program());
  EXPECT_EQ(after.first, before.first);
  EXPECT_LT(after.second, before.second);
}

}  // namespace
}  // namespace tern
