// Forbidden in a run with known sizes: allocations, and copies in place of updates.
#include <gtest/gtest.h>
#include <tern/graph.h>

#include <atomic>
#include <cmath>
#include <cstdlib>

#include "schema/kinds.h"
#include "tests/runtime/support.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TERN_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TERN_COUNTS_ALLOCATIONS 0
#else
#define TERN_COUNTS_ALLOCATIONS 1
#endif
#else
#define TERN_COUNTS_ALLOCATIONS 1
#endif

namespace {
std::atomic<long> allocations{0};
}  // namespace

#if TERN_COUNTS_ALLOCATIONS
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void* malloc(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, size);
}
}
#endif

namespace tern {
namespace {

using testing::floats;
using testing::TestProgram;
using testing::values_of;

long allocations_of(Session& s, const std::vector<Tensor>& inputs) {
  for (int i = 0; i < 20; ++i) s.run(inputs);  // a thread's first run may allocate
  const long before = allocations;
  for (int i = 0; i < 5; ++i) s.run(inputs);
  return allocations - before;
}

TEST(SteadyState, TheCounterCounts) {
  if (!TERN_COUNTS_ALLOCATIONS) GTEST_SKIP() << "the sanitizer has its own allocator";
  const long before = allocations;
  void* volatile block = std::malloc(10);  // volatile, or the compiler takes the pair away
  std::free(block);
  std::vector<int>* volatile list = new std::vector<int>(100);
  delete list;
  EXPECT_GE(allocations - before, 3);
}

TEST(SteadyState, ARunAllocatesNothing) {
  if (!TERN_COUNTS_ALLOCATIONS) GTEST_SKIP() << "the sanitizer has its own allocator";
  TestProgram p;
  Builder& b = p.b();
  const Dim n = b.pool().symbol("n", 1, 64);
  const ValueId x = p.input(DType::f32, {n, 40}), i = p.input(DType::i64, {3});
  const ValueId y = b.expr("tanh(x) * 2 + exp(-x)", {{"x", x}}, DType::f32);
  const ValueId soft =
      b.add(Op::softmax, {y}, {attr(AttrKey::axis, Dim(1)), attr(AttrKey::log, Dim(0)), attr_dtype(DType::f32)});
  p.output(b.reduce(b.transpose(soft, 0, 1), "sum", {1}, false, DType::f32));
  p.output(b.concat({b.index_select(y, i, 1), b.slice(y, 1, 0, 2)}, 1));
  PrepareOptions options;
  options.threads = 2;
  Session s(p.model().prepare(options));
  Tensor index(DType::i64, {3});
  index.span<std::int64_t>()[1] = 7;
  EXPECT_EQ(allocations_of(s, {floats({9, 40}, std::vector<float>(360, 0.25f)), index}), 0);
}

TEST(SteadyState, AReplayAllocatesNothing) {
  if (!TERN_COUNTS_ALLOCATIONS) GTEST_SKIP() << "the sanitizer has its own allocator";
  TestProgram p;
  Builder& b = p.b();
  const ValueId x = p.input(DType::f32, {9, 40}), i = p.input(DType::i64, {3});
  const ValueId y = b.expr("tanh(x) * 2 + exp(-x)", {{"x", x}}, DType::f32);
  p.output(b.reduce(y, "sum", {1}, false, DType::f32));
  p.output(b.index_select(y, i, 1));
  PrepareOptions options;
  options.threads = 2;
  Session s(p.model().prepare(options));
  const std::vector<Tensor> inputs = {floats({9, 40}, std::vector<float>(360, 0.25f)), Tensor(DType::i64, {3})};
  Graph graph;
  graph.capture_begin(s.stream());
  s.run(inputs);
  graph.capture_end();
  for (int k = 0; k < 3; ++k) graph.replay();
  const long before = allocations;
  for (int k = 0; k < 5; ++k) graph.replay();
  EXPECT_EQ(allocations - before, 0);
}

// Each step writes a row of 512 bytes in a cache of 4 MB: without an update in place the arena would hold a second
// cache, or bytes_copied would count a cache.
TEST(SteadyState, ACacheStepMovesOnlyTheNewTokens) {
  constexpr std::int64_t kRows = 8192, kWidth = 128;
  TestProgram p;
  Builder& b = p.b();
  const ValueId cache = p.state({kRows, kWidth}, std::vector<float>(kRows * kWidth), true);
  const ValueId token = p.input(DType::f32, {1, kWidth}), at = p.input(DType::i64, {1});
  const ValueId next = b.add(Op::index_put, {cache, token, at}, {attr(AttrKey::accumulate, Dim(0))});
  p.write_back(0, next);
  p.output(b.matmul(next, b.transpose(token, 0, 1)));
  Session s(p.model().prepare());
  Tensor position(DType::i64, {1});
  for (std::int64_t step = 0; step < 5; ++step) {
    position.span<std::int64_t>()[0] = step;
    const auto& out = s.run({floats({1, kWidth}, std::vector<float>(kWidth, static_cast<float>(step + 1))), position});
    for (std::int64_t row = 0; row < 6; ++row) {
      const float expected = row <= step ? static_cast<float>((row + 1) * (step + 1) * kWidth) : 0;
      EXPECT_EQ(values_of(out[0])[static_cast<std::size_t>(row)], expected);
    }
  }
  EXPECT_EQ(s.stats().bytes_copied, 0u);
  EXPECT_LT(s.stats().arena_bytes, static_cast<std::uint64_t>(kRows * kWidth)) << "a quarter of the cache's bytes";
}

TEST(SteadyState, AnOptimizerStepWorksInPlaceAndAllocatesNothing) {
  constexpr std::int64_t kSize = 50000;
  TestProgram p;
  Builder& b = p.b();
  std::vector<ValueId> in;
  for (int i = 0; i < 4; ++i) in.push_back(p.input(DType::f32, {kSize}));
  const ValueId step = p.input(DType::f32, {});
  const auto kind = static_cast<std::int64_t>(OptimKind::adamw);
  const double lr = 0.01, beta1 = 0.9, beta2 = 0.999, decay = 0.1, epsilon = 1e-8;
  const auto out =
      b.add_all(Op::optim, {in[0], in[1], in[2], in[3], kNoValue, step},
                {attr(AttrKey::kind, Dim(kind)), attr_numbers(AttrKey::hyper, {lr, beta1, beta2, decay, epsilon}),
                 attr(AttrKey::mode, Dim(0)), attr(AttrKey::maximize, Dim(0))});
  ASSERT_EQ(out.size(), 3u);
  const std::uint32_t targets[] = {0, 2, 3};
  for (std::size_t i = 0; i < 3; ++i)
    p.program().functions[0].writebacks.push_back({WriteBack::Target::input, targets[i], out[i]});
  p.output(step);
  Session s(p.model().prepare());
  const std::vector<float> parameter(kSize, 0.5f), gradient(kSize, 0.25f);
  const std::vector<Tensor> inputs = {floats({kSize}, parameter), floats({kSize}, gradient),
                                      floats({kSize}, std::vector<float>(kSize)),
                                      floats({kSize}, std::vector<float>(kSize)), floats({}, {1})};
  s.run(inputs);
  // A step from zero moments: the bias corrections cancel the betas (Loshchilov and Hutter, algorithm 2).
  const double expected = 0.5 * (1 - lr * decay) - lr * 0.25 / (std::sqrt(0.25 * 0.25) + epsilon);
  EXPECT_NEAR(values_of(inputs[0])[kSize - 1], expected, 1e-6);
  EXPECT_NEAR(values_of(inputs[2])[0], (1 - beta1) * 0.25, 1e-7);
  EXPECT_EQ(values_of(inputs[1])[7], 0.25f);
  EXPECT_EQ(s.stats().bytes_copied, 0u);
  EXPECT_LT(s.stats().arena_bytes, 4096u) << "no second copy of anything";
  if (TERN_COUNTS_ALLOCATIONS) {
    EXPECT_EQ(allocations_of(s, inputs), 0);
  }
}

}  // namespace
}  // namespace tern
