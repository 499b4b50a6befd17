#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::floats;
using testing::message_of;
using testing::TestProgram;
using testing::values_of;
using Floats = std::vector<float>;

TEST(Session, RunsAChainOfViewsAndArithmetic) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2, 3});
  const ValueId y = p.b().expr("x * 2 + 1", {{"x", x}}, DType::f32);
  p.output(p.b().transpose(y, 0, 1));
  p.output(p.b().flip(y, {1}));
  Session s(p.model().prepare());
  const auto& out = s.run({floats({2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(out[0].sizes(), (std::vector<std::int64_t>{3, 2}));
  EXPECT_EQ(values_of(out[0]), (Floats{3, 9, 5, 11, 7, 13}));
  EXPECT_EQ(values_of(out[1]), (Floats{7, 5, 3, 13, 11, 9}));
}

TEST(Session, ChecksInputsAndNamesThem) {
  TestProgram p;
  const Dim n = p.b().pool().symbol("n", 2, 8);
  const ValueId x = p.input(DType::f32, {n, 3}), y = p.input(DType::f32, {p.b().pool().mul(n, 2)});
  p.output(p.b().expr("x + 1", {{"x", x}}, DType::f32));
  p.output(y);
  Session s(p.model().prepare());
  EXPECT_NE(message_of([&] {
              s.run({floats({2, 3}, Floats(6))});
            }).find("takes 2 inputs (in0, in1), but 1"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              s.run({Tensor(DType::f64, {2, 3}), floats({4}, Floats(4))});
            }).find("input 'in0' is float64[2, 3]"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              s.run({floats({9, 3}, Floats(27)), floats({18}, Floats(18))});
            }).find("n must be between 2 and 8"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              s.run({floats({3, 3}, Floats(9)), floats({7}, Floats(7))});
            }).find("input 'in1' has size 7 on axis 0"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              s.run({floats({3, 4}, Floats(12)), floats({6}, Floats(6))});
            }).find("axis 1"),
            std::string::npos);
  EXPECT_EQ(s.run({floats({3, 3}, Floats(9, 1)), floats({6}, Floats(6, 4))})[0].numel(), 9);
}

TEST(Session, SolvesASymbolThatStandsInAnExpressionAlone) {
  TestProgram p;
  ExprPool& pool = p.b().pool();
  const Dim n = pool.symbol("n", 0, 100);
  const ValueId x = p.input(DType::f32, {pool.add(pool.mul(n, 2), 1)});
  p.output(p.b().slice(x, 0, 0, n));
  Session s(p.model().prepare());
  EXPECT_EQ(values_of(s.run({floats({5}, {1, 2, 3, 4, 5})})[0]), (Floats{1, 2}));
  EXPECT_NE(message_of([&] { s.run({floats({4}, Floats(4))}); }), "no error");
}

TEST(Session, KeepsStateBetweenCallsAndApartFromOtherSessions) {
  TestProgram p;
  const ValueId count = p.state({2}, {0, 10}, true), x = p.input(DType::f32, {2});
  const ValueId next = p.b().expr("c + x", {{"c", count}, {"x", x}}, DType::f32);
  p.write_back(0, next);
  p.output(p.b().expr("c * 2", {{"c", next}}, DType::f32));
  const PreparedModel prepared = p.model().prepare();
  Session a(prepared), b(prepared);
  a.run({floats({2}, {1, 1})});
  EXPECT_EQ(values_of(a.run({floats({2}, {1, 2})})[0]), (Floats{4, 26}));
  EXPECT_EQ(values_of(b.run({floats({2}, {5, 5})})[0]), (Floats{10, 30}));
  EXPECT_EQ(values_of(a.read_state("state0")), (Floats{2, 13}));
  a.write_state("state0", floats({2}, {100, 200}));
  EXPECT_EQ(values_of(a.run({floats({2}, {0, 0})})[0]), (Floats{200, 400}));
  a.reset_state();
  EXPECT_EQ(values_of(a.read_state("state0")), (Floats{0, 10}));
  EXPECT_EQ(a.stats().bytes_copied, 0u) << "the update happens in place";
}

// Later nodes read the old value after the new value exists: the update must not happen in place.
TEST(Session, DoesNotOverwriteAStateThatIsStillRead) {
  TestProgram p;
  const ValueId s0 = p.state({3}, {1, 2, 3}, true), x = p.input(DType::f32, {3});
  const ValueId next = p.b().expr("s + x", {{"s", s0}, {"x", x}}, DType::f32);
  p.write_back(0, next);
  p.output(p.b().expr("s * n", {{"s", s0}, {"n", next}}, DType::f32));
  p.output(s0);
  Session s(p.model().prepare());
  const auto& out = s.run({floats({3}, {1, 1, 1})});
  EXPECT_EQ(values_of(out[0]), (Floats{2, 6, 12}));
  EXPECT_EQ(values_of(out[1]), (Floats{1, 2, 3}));
  EXPECT_EQ(values_of(s.read_state("state0")), (Floats{2, 3, 4}));
}

TEST(Session, SwapsTwoStates) {
  TestProgram p;
  const ValueId a = p.state({2}, {1, 2}, true), b = p.state({2}, {3, 4}, true);
  p.write_back(0, b);
  p.write_back(1, a);
  p.output(a);
  Session s(p.model().prepare());
  EXPECT_EQ(values_of(s.run(std::vector<Tensor>{})[0]), (Floats{1, 2}));
  EXPECT_EQ(values_of(s.read_state("state0")), (Floats{3, 4}));
  EXPECT_EQ(values_of(s.read_state("state1")), (Floats{1, 2}));
}

TEST(Session, WritesAnInputBackAndRefusesAReadOnlyOne) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2});
  p.program().functions[0].writebacks.push_back(
      {WriteBack::Target::input, 0, p.b().expr("x + 1", {{"x", x}}, DType::f32)});
  p.output(x);
  Session s(p.model().prepare());
  const Tensor t = floats({2}, {1, 2});
  EXPECT_EQ(values_of(s.run({t})[0]), (Floats{1, 2})) << "the result is the value before the write-back";
  EXPECT_EQ(values_of(t), (Floats{2, 3}));
  const float fixed[2] = {1, 2};
  EXPECT_NE(
      message_of([&] { s.run({Tensor::borrow(static_cast<const void*>(fixed), DType::f32, {2})}); }).find("read-only"),
      std::string::npos);
}

TEST(Session, PlansEachSizeOnceWithinItsLimit) {
  TestProgram p;
  const Dim n = p.b().pool().symbol("n", 0, 1000);
  const ValueId x = p.input(DType::f32, {n});
  p.output(p.b().expr("x * x", {{"x", x}}, DType::f32));
  PrepareOptions options;
  options.cached_plans = 2;
  Session s(p.model().prepare(options));
  for (std::int64_t size : {3, 5, 3, 5}) s.run({floats({size}, Floats(static_cast<std::size_t>(size), 2))});
  EXPECT_EQ(s.stats().plans_made, 2u);
  s.run({floats({7}, Floats(7, 2))});  // pushes out 3
  s.run({floats({5}, Floats(5, 2))});
  EXPECT_EQ(s.stats().plans_made, 3u);
  EXPECT_EQ(values_of(s.run({floats({3}, {1, 2, 3})})[0]), (Floats{1, 4, 9}));
  EXPECT_EQ(s.stats().plans_made, 4u);
}

TEST(Session, ReusesMemoryOfValuesThatAreDone) {
  TestProgram p;
  ValueId v = p.input(DType::f32, {1024});
  for (int i = 0; i < 20; ++i)
    v = p.b().reshape(p.b().transpose(p.b().reshape(p.b().expr("x + 1", {{"x", v}}, DType::f32), {32, 32}), 0, 1),
                      {1024});
  p.output(v);
  Session s(p.model().prepare());
  s.run({floats({1024}, Floats(1024, 0))});
  EXPECT_LE(s.stats().arena_bytes, 3u * 4096u) << "two or three values are alive at once, not forty";
}

TEST(Session, ManyThreadsShareOnePrepared) {
  TestProgram p;
  Floats weights(256 * 256);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 7) - 3;
  const ValueId w = p.state({256, 256}, weights, false), count = p.state({1}, {0}, true),
                x = p.input(DType::f32, {4, 256});
  p.output(p.b().reduce(p.b().expr("m + c", {{"m", p.b().matmul(x, w)}, {"c", count}}, DType::f32), "sum", {1}, false,
                        DType::f32));
  p.write_back(1, p.b().expr("c + 1", {{"c", count}}, DType::f32));
  PrepareOptions options;
  options.threads = 1;
  const PreparedModel prepared = p.model().prepare(options);
  Session alone(prepared);
  std::vector<Floats> expected;
  const Tensor input = floats({4, 256}, Floats(1024, 0.5f));
  for (int i = 0; i < 20; ++i) expected.push_back(values_of(alone.run({input})[0]));
  std::vector<std::jthread> threads;
  std::atomic<int> wrong{0};
  std::atomic<std::uint64_t> bytes{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      Session s(prepared);
      for (int i = 0; i < 20; ++i) wrong += values_of(s.run({input})[0]) != expected[static_cast<std::size_t>(i)];
      bytes += s.stats().arena_bytes + s.stats().state_bytes;
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(bytes, 8u * (alone.stats().arena_bytes + alone.stats().state_bytes));
  EXPECT_LT(alone.stats().arena_bytes + alone.stats().state_bytes, 256u * 256u * 4u)
      << "a session has no copy of the weights";
}

TEST(Session, SaysWhichNodeFailed) {
  TestProgram p;
  p.program().origins.push_back({"aten.index_select.default", "encoder.embed", "model.py:42"});
  const ValueId x = p.input(DType::f32, {3, 2}), i = p.input(DType::i64, {1});
  p.b().set_origin(0);
  p.output(p.b().index_select(x, i, 0));
  Session s(p.model().prepare());
  Tensor bad(DType::i64, {1});
  bad.span<std::int64_t>()[0] = 7;
  const std::string message = message_of([&] { s.run({floats({3, 2}, Floats(6)), bad}); });
  EXPECT_NE(message.find("model.py:42"), std::string::npos) << message;
  EXPECT_NE(message.find("7"), std::string::npos) << message;
}

}  // namespace
}  // namespace tern
