// Threads of runs: each session has its own number, and the application's OpenMP setting stays.
#include "threads/threads.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <tern/custom_op.h>
#include <tern/graph.h>

#include <atomic>
#include <barrier>
#include <thread>

#include "exporter/passes/passes.h"
#include "kernels/cpu/processor.h"
#include "runtime/prepared.h"
#include "schema/custom_arguments.h"
#include "tests/random_floats.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::floats;
using testing::TestProgram;
using testing::values_of;
using Floats = std::vector<float>;

constexpr int kApplication = 5;  // unlike any session's

/// Each test begins with the application's number of threads and must leave the number unchanged.
class RunThreads : public ::testing::Test {
 protected:
  RunThreads() {
    load_ops(TERN_TEST_OPS);
    omp_set_num_threads(kApplication);
  }
  ~RunThreads() override {
    EXPECT_EQ(omp_get_max_threads(), kApplication);
    EXPECT_EQ(Threads::current(), Threads(kApplication));
    omp_set_num_threads(saved_threads_);
  }

 private:
  int saved_threads_ = omp_get_max_threads();
};

/// out0: the number of threads available to a kernel; fails if `x` begins with a negative number.
ValueId add_threads(TestProgram& p, ValueId x) {
  Node n;
  n.op = Op::custom;
  n.inputs = {x};
  n.set(AttrKey::name, std::string("tests::threads"));
  n.set(AttrKey::text, format_custom_arguments({{"x", CustomArgument::Kind::tensors, 1, ""}}));
  n.set(AttrKey::dtype, Dims{static_cast<std::int64_t>(DType::f32)});
  n.set(AttrKey::counts, Dims{1});
  n.set(AttrKey::sizes, Dims{1});
  return p.b().add(std::move(n))[0];
}

/// A program that outputs its number of threads, and writes back a state in each run.
Model model_threads() {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {1});
  p.output(add_threads(p, x));
  const ValueId s = p.state({1}, {1}, true);
  p.write_back(0, p.b().expr("s + x", {{"s", s}, {"x", x}}, DType::f32));
  return p.model();
}

PreparedModel prepared(int threads) {
  PrepareOptions options;
  options.threads = threads;
  return model_threads().prepare(options);
}

float threads_of(Session& s) {
  return values_of(s.run({floats({1}, {1})})[0])[0];
}

TEST_F(RunThreads, SessionsInTurnsHaveTheirOwn) {
  Session one(prepared(1)), three(prepared(3)), callers(prepared(0));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(threads_of(one), 1);
    EXPECT_EQ(threads_of(callers), kApplication);
    EXPECT_EQ(threads_of(three), 3);
    EXPECT_EQ(omp_get_max_threads(), kApplication);
  }
}

TEST_F(RunThreads, SessionsAtOnceHaveTheirOwn) {
  std::vector<std::thread> users;
  std::vector<int> wrong(4, 0);
  std::barrier begin(4);
  users.reserve(4);
  for (int n = 0; n < 4; ++n) {
    users.emplace_back([&, n] {
      Session s(prepared(n + 1));
      begin.arrive_and_wait();
      for (int i = 0; i < 50; ++i) wrong[static_cast<std::size_t>(n)] += threads_of(s) != static_cast<float>(n + 1);
    });
  }
  for (std::thread& t : users) t.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

/// Images through a convolution, products in two types and a factorization: loops of kernels, oneDNN, BLAS.
Model mixed_model() {
  constexpr std::int64_t kChannels = 16, kSide = 24;
  TestProgram p;
  auto& b = p.b();
  using Sizes = std::vector<std::int64_t>;
  const ValueId x = p.input(DType::f32, {b.pool().symbol("n", 1, 8), kChannels, kSide, kSide});
  const ValueId kernel =
      p.state({kChannels, kChannels, 3, 3}, test::random_floats(kChannels * kChannels * 9, 1), false);
  const ValueId image =
      b.add(Op::convolution, {x, kernel},
            {attr(AttrKey::strides, Sizes{1, 1}), attr(AttrKey::dilations, Sizes{1, 1}),
             attr(AttrKey::before, Sizes{1, 1}), attr(AttrKey::after, Sizes{1, 1}), attr(AttrKey::groups, Dim(1))});
  const ValueId y = b.expr("tanh(x)", {{"x", image}}, DType::f32);
  p.output(b.add(Op::matmul, {y, p.state({kSide, kSide}, test::random_floats(kSide * kSide, 2), false)}));
  const ValueId wide = b.cast(y, DType::f64), square = b.add(Op::matmul, {wide, b.transpose(wide, -1, -2)});
  p.output(b.cast(square, DType::f32));
  const ValueId one = b.reshape(
      b.cast(b.expr("a == b", {{"a", b.unsqueeze(b.iota(kSide, DType::i64), 1)}, {"b", b.iota(kSide, DType::i64)}},
                    DType::boolean),
             DType::f64),
      {1, 1, kSide, kSide});
  p.output(b.cast(b.add(Op::cholesky, {b.expr("s + one", {{"s", square}, {"one", one}}, DType::f64)}), DType::f32));
  p.output(b.reduce(b.cast(y, DType::bf16), "sum", {0, 1}, false, DType::bf16));
  return p.model();
}

Floats results(Session& s, const Tensor& x) {
  Floats all;
  for (const Tensor& t : s.run({x})) {
    if (t.dtype() != DType::f32) continue;
    const Floats v = values_of(t);
    all.insert(all.end(), v.begin(), v.end());
  }
  return all;
}

TEST_F(RunThreads, SessionsAtOncePlanAndRunOneProgram) {
  const Model program = mixed_model();
  std::vector<Tensor> images;
  for (std::int64_t n = 1; n <= 3; ++n)
    images.push_back(floats({n, 16, 24, 24}, test::random_floats(n * 16 * 24 * 24, 3)));
  std::vector<PreparedModel> ready;
  for (const int threads : {1, 2, 3}) {
    PrepareOptions options;
    options.threads = threads;
    ready.push_back(program.prepare(options));
  }
  std::vector<std::vector<Floats>> expected(ready.size());
  for (std::size_t k = 0; k < ready.size(); ++k) {
    for (const Tensor& x : images) {
      Session s(ready[k]);
      expected[k].push_back(results(s, x));
    }
  }
  const PreparedModel fresh[] = {program.prepare(), program.prepare()};  // no session has used their weights yet
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> users;
  std::barrier begin(6);
  users.reserve(6);
  for (std::size_t u = 0; u < 6; ++u) {
    users.emplace_back([&, u] {
      Session s(ready[u % 3]), other(fresh[u % 2]);
      begin.arrive_and_wait();
      for (std::size_t i = 0; i < 6; ++i) {
        const std::size_t n = (i + u) % images.size();
        wrong += results(s, images[n]) != expected[u % 3][n];
        results(other, images[n]);
      }
    });
  }
  users.clear();
  EXPECT_EQ(wrong, 0);
}

TEST_F(RunThreads, FailedRunsLeaveTheApplicationsNumber) {
  Session s(prepared(2));
  EXPECT_THROW(s.run({floats({1}, {-1})}), Error) << "in a kernel";
  EXPECT_EQ(omp_get_max_threads(), kApplication);
  EXPECT_THROW(s.run({floats({2}, {1, 1})}), Error) << "before the first kernel";
  EXPECT_EQ(omp_get_max_threads(), kApplication);
  EXPECT_THROW(s.run({}), Error);
  EXPECT_EQ(threads_of(s), 2);
}

TEST_F(RunThreads, StatesAndResultsOfCallersLeaveIt) {
  Session s(prepared(2));
  Tensor result(DType::f32, {1});
  s.run_into(std::vector<Tensor>{floats({1}, {1})}, std::vector<Tensor>{result});
  EXPECT_EQ(values_of(result), Floats{2});
  s.write_state("state0", floats({1}, {4}));
  EXPECT_EQ(values_of(s.read_state("state0")), Floats{4});
  s.reset_state();
}

TEST_F(RunThreads, PlansAreForANumber) {
  Session s(prepared(0));
  EXPECT_EQ(threads_of(s), kApplication);
  EXPECT_EQ(s.stats().plans_made, 1u);
  omp_set_num_threads(2);
  EXPECT_EQ(threads_of(s), 2);
  EXPECT_EQ(s.stats().plans_made, 2u);
  omp_set_num_threads(kApplication);
  EXPECT_EQ(threads_of(s), kApplication);
  EXPECT_EQ(s.stats().plans_made, 2u);
}

/// Each thread has a part of the scratch memory.
TEST_F(RunThreads, ScratchMemoryIsForTheNumberOfTheRun) {
  constexpr std::int64_t kMatrices = 64, kSize = 12;
  TestProgram p;
  p.output(p.b().add(Op::cholesky, {p.input(DType::f32, {kMatrices, kSize, kSize})}));
  Tensor x(DType::f32, {kMatrices, kSize, kSize});
  const auto values = x.span<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % (kSize * kSize) % (kSize + 1) == 0 ? 4.0f : 0.1f;
  Session s(p.model().prepare());
  omp_set_num_threads(1);
  const Floats alone = values_of(s.run({x})[0]);
  omp_set_num_threads(kApplication);
  EXPECT_EQ(values_of(s.run({x})[0]), alone);
}

TEST_F(RunThreads, AGraphKeepsTheNumberOfItsCapture) {
  for (const int threads : {0, 2}) {
    Session s(prepared(threads));
    Graph graph;
    graph.capture_begin(s.stream());
    const Tensor result = s.run({floats({1}, {1})})[0];
    graph.capture_end();
    EXPECT_EQ(omp_get_max_threads(), kApplication);
    omp_set_num_threads(3);
    graph.replay();
    EXPECT_EQ(omp_get_max_threads(), 3);
    omp_set_num_threads(kApplication);
    EXPECT_EQ(values_of(result), Floats{static_cast<float>(threads == 0 ? kApplication : threads)});
  }
}

TEST_F(RunThreads, FoldingAtExportLeavesIt) {
  TestProgram p;
  const ValueId w = p.state({3}, {1, 2, 3}, false);
  p.output(p.b().expr("w * 2", {{"w", w}}, DType::f32));
  fold_constants(p.program());
  EXPECT_EQ(omp_get_max_threads(), kApplication);
}

TEST_F(RunThreads, MeasuredAlgorithmsAreForTheirNumber) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {8, 64});
  p.output(p.b().add(Op::matmul, {x, p.state({64, 64}, Floats(4096, 1), false)}));
  const Tuning::Choice choice{0, 0, std::string(name_of({Algorithm::blocks}))};
  p.program().tunings = {{cpu::processor(), 2, {choice}}};
  const auto prepared = prepare_program(p.model().program(), {});
  EXPECT_EQ(prepared->algorithm(0, 0, Threads(2)), Algorithm::blocks);
  EXPECT_EQ(prepared->algorithm(0, 0, Threads(1)), Algorithm::none);
  EXPECT_EQ(prepared->algorithm(0, 0, Threads(3)), Algorithm::none);
}

}  // namespace
}  // namespace tern
