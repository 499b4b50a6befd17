// Programs with wrong declared sizes: the run fails before touching memory. The tests bypass the validator, which
// refuses some of these programs.
#include <gtest/gtest.h>
#include <tern/cancel.h>
#include <tern/graph.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <thread>

#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::floats;
using testing::message_of;
using testing::TestProgram;
using testing::values_of;
using Floats = std::vector<float>;

void expect_error(const TestProgram& p, const std::vector<Tensor>& inputs, const std::string& part,
                  PrepareOptions options = {}) {
  Session s(p.model().prepare(options));
  const std::string message = message_of([&] { s.run(inputs); });
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

Tensor ones_of(std::int64_t n) {
  return floats({n}, Floats(static_cast<std::size_t>(n), 1));
}

TensorType& type(TestProgram& p, ValueId v, std::uint32_t function = 0) {
  return p.program().functions[function].values[static_cast<std::size_t>(v)].type;
}

TEST(DeclaredSizes, OfResultsThatDependOnData) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {4});
  const Dim u = p.b().pool().new_symbol("u", 0, kNoBound);
  const ValueId found = p.b().add(Op::nonzero, {x}, {attr(AttrKey::symbols, u)});
  type(p, found).shape[0] = p.b().pool().mul(u, 1000);
  p.output(p.b().expr("x + 1", {{"x", found}}, DType::i64));
  expect_error(p, {ones_of(4)}, "result 0 is int64[4, 1], but the program declares");
}

TEST(DeclaredSizes, OfWriteBacks) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {p.b().pool().symbol("n", 0, 100)});
  p.state({2}, {0, 0}, true);
  const ValueId y = p.b().expr("x * 2", {{"x", x}}, DType::f32);
  p.write_back(0, y);
  p.output(x);
  expect_error(p, {ones_of(64)}, "a value of float32[64] is written back to state 'state0' of float32[2]");
  Session s(p.model().prepare());
  s.run({ones_of(2)});
  EXPECT_EQ(values_of(s.read_state("state0")), (Floats{2, 2}));
}

TEST(DeclaredSizes, OfOperandsOfBodies) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {p.b().pool().symbol("n", 0, 100)});
  const std::uint32_t body = p.add_body();
  const ValueId inner = p.input(DType::f32, {64}, body);
  p.output(Builder(p.program(), body).expr("x * 2", {{"x", inner}}, DType::f32), body);
  Node call;
  call.op = Op::call;
  call.inputs = {x};
  call.functions = {body};
  p.output(p.b().add(std::move(call))[0]);
  expect_error(p, {ones_of(2)}, "is float32[2], but the program declares float32[64]");
}

TEST(DeclaredSizes, OfRowsOfLoops) {
  TestProgram p;
  ExprPool& pool = p.b().pool();
  const ValueId x = p.input(DType::f32, {pool.symbol("n", 0, 100)}),
                y = p.input(DType::f32, {pool.symbol("m", 0, 100)});
  const std::uint32_t body = p.add_body();
  const ValueId a = p.input(DType::f32, {}, body), b = p.input(DType::f32, {}, body);
  p.output(Builder(p.program(), body).expr("a + b", {{"a", a}, {"b", b}}, DType::f32), body);
  Node map;
  map.op = Op::map_loop;
  map.inputs = {x, y};
  map.functions = {body};
  map.attrs = {attr(AttrKey::mapped, Dim(2))};
  p.output(p.b().add(std::move(map))[0]);
  expect_error(p, {ones_of(50), ones_of(3)}, "different numbers of rows");
  Session s(p.model().prepare());
  EXPECT_EQ(values_of(s.run({ones_of(2), ones_of(2)})[0]), (Floats{2, 2}));
}

TEST(DeclaredSizes, OfSymbolsThatHaveAValue) {
  TestProgram p;
  const Dim n = p.b().pool().symbol("n", 0, 100);
  const ValueId x = p.input(DType::f32, {n}), y = p.input(DType::i64, {});
  p.b().add_all(Op::item, {y}, {attr(AttrKey::symbols, n)});
  p.output(p.b().expr("x + 1", {{"x", x}}, DType::f32));
  Tensor hundred(DType::i64, {});
  hundred.span<std::int64_t>()[0] = 100;
  expect_error(p, {ones_of(2), hundred}, "bound twice");
}

TEST(DeclaredSizes, ThatNobodyFindsOut) {
  TestProgram p;
  ExprPool& pool = p.b().pool();
  const Dim n = pool.symbol("n", 0, 100);
  const ValueId x = p.input(DType::f32, {n});
  const ValueId y = p.b().expr("x + 1", {{"x", x}}, DType::f32);
  type(p, y).shape[0] = pool.floordiv(n, pool.sub(n, 3));  // undefined for n = 3
  p.output(y);
  expect_error(p, {ones_of(3)}, "");
  expect_error(p, {ones_of(8)}, "the program declares");
}

TEST(DeclaredSizes, OfExpressionsFusedIntoProducts) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {p.b().pool().symbol("n", 1, 100), 4});
  const ValueId weight = p.state({4, 5}, Floats(20, 1), false), more = p.state({3, 5}, Floats(15, 1), false);
  const ValueId y = p.b().matmul(x, weight);
  const ValueId z = p.b().expr("y + m", {{"y", y}, {"m", more}}, DType::f32);
  type(p, z).shape[0] = type(p, y).shape[0];
  p.output(z);
  expect_error(p, {floats({1, 4}, Floats(4, 1))}, "declares");
  Session s(p.model().prepare());
  EXPECT_EQ(values_of(s.run({floats({3, 4}, Floats(12, 1))})[0]), Floats(15, 5));
}

TEST(DeclaredSizes, OfViewsBeyondTheirBase) {
  for (std::int64_t n : {4, 6}) {
    TestProgram p;
    ExprPool& pool = p.b().pool();
    const Dim m = pool.symbol("m", 0, 100);
    const ValueId x = p.input(DType::f32, {4}), y = p.input(DType::f32, {m});
    p.output(n == 4 ? p.b().slice(x, 0, m, 2) : p.b().as_strided(x, {2, m}, {m, 1}, 0));
    p.output(y);
    expect_error(p, {ones_of(4), ones_of(n)}, n == 4 ? "reaches outside its axis" : "reaches outside its base");
  }
}

// The work is linear in the bins: a second here, and days when each bin added up all others.
TEST(WorkOfKernels, DensitiesOfManyBins) {
  constexpr std::int64_t kBins = 1 << 20;
  for (bool reproducible : {false, true}) {
    TestProgram p;
    const ValueId x = p.input(DType::f32, {4});
    p.output(
        p.b().add(Op::histogram, {x},
                  {attr(AttrKey::bins, kBins), attr_numbers(AttrKey::range, {0, 1}), attr(AttrKey::density, Dim(1))}));
    PrepareOptions options;
    options.reproducible = reproducible;
    Session s(p.model().prepare(options));
    const Floats density = values_of(s.run({floats({4}, {0, 0, 1, 2})})[0]);
    EXPECT_FLOAT_EQ(density.front(), 2.0F / 3 * kBins);
    EXPECT_FLOAT_EQ(density.back(), 1.0F / 3 * kBins);
    EXPECT_EQ(density[kBins / 2], 0);
  }
}

// A graph unrolls loops over rows; a million rows cost a program nothing.
TEST(WorkOfGraphs, RowsOfALoopAreLimited) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {1});
  const std::uint32_t body = p.add_body();
  const ValueId row = p.input(DType::f32, {}, body);
  p.output(Builder(p.program(), body).expr("x + 1", {{"x", row}}, DType::f32), body);
  Node map;
  map.op = Op::map_loop;
  map.inputs = {p.b().expand(x, {1 << 20})};
  map.functions = {body};
  map.attrs = {attr(AttrKey::mapped, Dim(1))};
  p.output(p.b().add(std::move(map))[0]);
  const Stream stream("cpu");
  Session s(p.model().prepare(), stream);
  Graph graph;
  graph.capture_begin(stream);
  const std::string message = message_of([&] { s.run({ones_of(1)}); });
  EXPECT_NE(message.find("graph has more than"), std::string::npos) << message;
}

/// A loop that adds 1 to x while x < 1e30.
TestProgram endless() {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {});
  const std::uint32_t condition = p.add_body(), body = p.add_body();
  const ValueId a = p.input(DType::f32, {}, condition), b = p.input(DType::f32, {}, body);
  p.output(Builder(p.program(), condition).expr("x < 1e30", {{"x", a}}, DType::f32, DType::boolean), condition);
  p.output(Builder(p.program(), body).expr("x + 1", {{"x", b}}, DType::f32), body);
  Node loop;
  loop.op = Op::while_loop;
  loop.inputs = {x};
  loop.functions = {condition, body};
  loop.attrs = {attr(AttrKey::carried, Dim(1))};
  p.output(p.b().add(std::move(loop))[0]);
  return p;
}

TEST(RunLimits, EndARun) {
  const TestProgram p = endless();
  const Tensor start = floats({}, {0}), end = floats({}, {2e30F});
  for (int kind = 0; kind < 2; ++kind) {
    PrepareOptions options;
    options.max_seconds = kind == 0 ? 0.05 : 0;
    options.max_iterations = kind == 0 ? 0 : 1000;
    Session s(p.model().prepare(options));
    const std::string message = message_of([&] { s.run({start}); });
    EXPECT_NE(message.find(kind == 0 ? "--max-seconds" : "did not end after 1000 iterations"), std::string::npos)
        << message;
    EXPECT_EQ(values_of(s.run({end})[0]), (Floats{2e30F}));  // the session is as good as before
  }
}

/// Cancels the token after 20 ms.
std::jthread cancel_soon(const CancelToken& token) {
  return std::jthread([token] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    token.cancel();
  });
}

TEST(Cancel, EndsARunOnAnotherThread) {
  const TestProgram p = endless();
  const Tensor start = floats({}, {0}), end = floats({}, {2e30F});
  Session s(p.model().prepare());
  const CancelToken token;
  {
    const CancelScope scope(token);
    const std::jthread canceller = cancel_soon(token);
    EXPECT_THROW(s.run({start}), Cancelled);
    EXPECT_THROW(s.run({end}), Cancelled) << "the token stays cancelled";
    token.reset();
    EXPECT_EQ(values_of(s.run({end})[0]), (Floats{2e30F}));
    token.cancel();
  }
  EXPECT_EQ(values_of(s.run({end})[0]), (Floats{2e30F})) << "the scope has ended";
}

TEST(Cancel, NamesTheNodeAndKeepsItsCode) {
  const TestProgram p = endless();
  Session s(p.model().prepare());
  const CancelToken token;
  const CancelScope scope(token);
  const std::jthread canceller = cancel_soon(token);
  try {
    s.run({floats({}, {0})});
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::runtime);
    EXPECT_NE(std::string(e.what()).find("the run was cancelled"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("node 0"), std::string::npos) << e.what();
  }
}

TEST(Cancel, ScopesNest) {
  const TestProgram p = endless();
  Session s(p.model().prepare());
  const CancelToken outer, inner;
  const CancelScope outer_scope(outer);
  outer.cancel();
  {
    const CancelScope scope(inner);
    s.run({floats({}, {2e30F})});
  }
  EXPECT_THROW(s.run({floats({}, {2e30F})}), Cancelled);
}

TEST(Cancel, EndsAReplay) {
  const TestProgram p = endless();
  const Stream stream("cpu");
  Session s(p.model().prepare(), stream);
  const CancelToken token;
  const CancelScope scope(token);
  Tensor start = floats({}, {0});
  Graph graph;
  graph.capture_begin(stream);
  const std::vector<Tensor>& results = s.run({start});
  graph.capture_end();
  {
    const std::jthread canceller = cancel_soon(token);
    EXPECT_THROW(graph.replay(), Cancelled);
  }
  token.reset();
  start.span<float>()[0] = 2e30F;
  graph.replay();
  stream.synchronize();
  EXPECT_EQ(values_of(results[0]), (Floats{2e30F}));
}

TEST(RunLimits, OfMemoryHoldBeforeItIsTaken) {
  TestProgram p;
  const Dim n = p.b().pool().symbol("n", 0, kNoBound);
  const ValueId x = p.input(DType::i64, {});
  p.b().add_all(Op::item, {x}, {attr(AttrKey::symbols, n)});
  p.output(p.b().add(Op::full, {}, {attr(AttrKey::sizes, n), attr_dtype(DType::f32), attr_number(AttrKey::value, 7)}));
  const auto sized = [](std::int64_t size) {
    Tensor t(DType::i64, {});
    t.span<std::int64_t>()[0] = size;
    return t;
  };
  PrepareOptions options;
  options.max_memory = 1 << 20;
  Session s(p.model().prepare(options));
  EXPECT_EQ(s.run({sized(100)})[0].numel(), 100);
  try {
    s.run({sized(std::int64_t{1} << 38)});
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::out_of_memory);
    EXPECT_NE(std::string(e.what()).find("--max-memory"), std::string::npos) << e.what();
  }
  EXPECT_EQ(s.run({sized(1000)})[0].numel(), 1000);
}

// The largest integer plus one overflows as the number of bins.
TEST(Safety, BincountOfTheLargestInteger) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  for (const bool reproducible : {false, true}) {
    TestProgram p;
    const ValueId x = p.input(DType::i64, {3});
    const Dim count = p.b().pool().new_symbol("n", 0, kNoBound);
    p.output(p.b().add(Op::bincount, {x}, {attr(AttrKey::length, Dim(0)), attr(AttrKey::symbols, count)}));
    PrepareOptions options;
    options.reproducible = reproducible;
    Session session(p.model().prepare(options));
    Tensor values(DType::i64, {3});
    std::ranges::copy(std::vector<std::int64_t>{kLargest, 2, kLargest}, values.span<std::int64_t>().begin());
    EXPECT_THROW(session.run({values}), Error);
  }
}

// The kernel's tables would take more memory than the result.
TEST(Safety, ResizeBeyondTheLimitOfMemory) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {1, 2, 3});
  p.output(p.b().add(Op::resize, {x}, {attr(AttrKey::mode, Dim(2)), attr(AttrKey::sizes, Dim(std::int64_t{1} << 31))}));
  PrepareOptions options;
  options.max_memory = 1 << 26;
  Session session(p.model().prepare(options));
  try {
    session.run({Tensor(DType::f32, {1, 2, 3})});
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::out_of_memory);
  }
}

}  // namespace
}  // namespace tern
