// Plans belong to a prepared program: its sessions share plans and never change them.
#include "runtime/plan/plans.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include <atomic>
#include <thread>

#include "kernels/cpu/processor.h"
#include "runtime/plan/shared_weights.h"
#include "tests/random_floats.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using test::random_floats;
using testing::floats;
using testing::TestProgram;
using testing::values_of;
using Floats = std::vector<float>;

/// Runs `work` on `count` concurrent threads, with the thread's number.
void run_concurrently(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  std::atomic<int> ready = 0;
  threads.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      ++ready;
      while (ready < count) std::this_thread::yield();
      work(i);
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST(Plans, AreMadeOnceForAllSessions) {
  TestProgram p;
  const Dim n = p.b().pool().symbol("n", 1, 1000);
  p.output(p.b().expr("x * x", {{"x", p.input(DType::f32, {n})}}, DType::f32));
  const PreparedModel prepared = p.model().prepare();
  constexpr int kSessions = 8;
  std::atomic<std::uint64_t> made = 0;
  run_concurrently(kSessions, [&](int i) {
    Session s(prepared);
    for (std::int64_t size : {3, 5, 3, 7, 5}) {
      const auto value = static_cast<float>(i + 1);
      EXPECT_EQ(values_of(s.run({floats({size}, Floats(static_cast<std::size_t>(size), value))})[0]),
                Floats(static_cast<std::size_t>(size), value * value));
    }
    made += s.stats().plans_made;
  });
  EXPECT_EQ(made, 3u);
  Session later(prepared);
  later.run({floats({7}, Floats(7, 1))});
  EXPECT_EQ(later.stats().plans_made, 0u);
}

/// A convolution, a product and a sum along an axis, with a requested algorithm.
class Mixture {
 public:
  static constexpr std::int64_t kChannels = 24, kSide = 9;
  explicit Mixture(const std::string& way, bool reproducible) {
    TestProgram p;
    auto& b = p.b();
    const Dim rows = b.pool().symbol("rows", 1, 64);
    const ValueId image = p.input(DType::f32, {rows, Dim(kChannels), Dim(kSide), Dim(kSide)}),
                  x = p.input(DType::f32, {rows, Dim(kChannels)}), a = p.input(DType::f32, {rows, Dim(4), Dim(4)});
    const ValueId w = p.state({kChannels, kChannels, 3, 3}, random_floats(kChannels * kChannels * 9, 1), false),
                  m = p.state({kChannels, kChannels}, random_floats(kChannels * kChannels, 2), false);
    p.output(
        b.add(Op::convolution, {image, w},
              {attr(AttrKey::strides, Dims{1, 1}), attr(AttrKey::dilations, Dims{1, 1}),
               attr(AttrKey::before, Dims{1, 1}), attr(AttrKey::after, Dims{1, 1}), attr(AttrKey::groups, Dim(1))}));
    p.output(b.matmul(x, b.transpose(m, 0, 1)));
    p.output(b.add(Op::scan, {a}, {attr(AttrKey::axis, Dim(1)), attr(AttrKey::kind, Dim(0))}));
    Tuning t{cpu::processor(), 1, {}};
    const auto& nodes = p.program().functions[0].nodes;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) t.choices.push_back({0, i, way});
    p.program().tunings = {t};
    PrepareOptions options;
    options.threads = 1;
    options.reproducible = reproducible;
    prepared_ = p.model().prepare(options);
  }
  Session session() const { return Session(*prepared_); }
  static std::vector<Floats> run(Session& s, std::int64_t rows, unsigned seed) {
    std::vector<Floats> results;
    for (const Tensor& t :
         s.run({floats({rows, kChannels, kSide, kSide}, random_floats(rows * kChannels * kSide * kSide, seed)),
                floats({rows, kChannels}, random_floats(rows * kChannels, seed + 1)),
                floats({rows, 4, 4}, random_floats(rows * 16, seed + 2))}))
      results.push_back(values_of(t));
    return results;
  }

 private:
  std::optional<PreparedModel> prepared_;
};

TEST(Plans, RunOnSeveralThreadsAtOnce) {
  for (const std::string way :
       {"", "onednn", "tiles", "channels_last", "winograd", "planes", "blocks", "in_place", "reproducible"}) {
    SCOPED_TRACE(way);
    constexpr int kThreads = 4, kRounds = 20;
    const bool reproducible = way == "reproducible";
    const Mixture shared(way, reproducible), other(way, reproducible);
    std::vector<std::vector<Floats>> expected;
    Session alone = other.session();
    for (unsigned i = 0; i < kThreads; ++i) expected.push_back(Mixture::run(alone, 3, 10 * i));
    run_concurrently(kThreads, [&](int i) {
      Session s = shared.session();
      for (int round = 0; round < kRounds; ++round)
        ASSERT_EQ(Mixture::run(s, 3, 10 * static_cast<unsigned>(i)), expected[static_cast<std::size_t>(i)]);
    });
  }
}

/// Data-dependent sizes of a session get their own plan: sizes of a later section, in memory of an earlier section.
TEST(Plans, OfSizesThatDependOnDataAreForThoseSizes) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {Dim(6)});
  const Dims u = {p.b().pool().new_symbol("u", 0, kNoBound)};
  const ValueId found = p.b().add(Op::nonzero, {x}, {attr(AttrKey::symbols, u)});
  p.output(p.b().expr("i * 2 + 1", {{"i", found}}, DType::i64));
  p.output(p.b().expr("x + 1", {{"x", x}}, DType::f32));
  const PreparedModel prepared = p.model().prepare();
  run_concurrently(4, [&](int i) {
    Session s(prepared);
    for (int round = 0; round < 10; ++round) {
      Floats values(6, 0);
      for (int k = 0; k <= (i + round) % 5; ++k) values[static_cast<std::size_t>(k)] = 1;
      const auto& results = s.run({floats({6}, values)});
      ASSERT_EQ(results[0].sizes()[0], (i + round) % 5 + 1);
      for (std::int64_t k = 0; k < results[0].sizes()[0]; ++k)
        ASSERT_EQ(results[0].span<const std::int64_t>()[static_cast<std::size_t>(k)], 2 * k + 1);
      ASSERT_EQ(values_of(results[1])[5], 1);
    }
  });
}

PlanKey key_of(std::int64_t size) {
  PlanKey key;
  key.symbols = {size};
  return key;
}

std::shared_ptr<const SectionPlan> empty_plan() {
  return std::make_shared<const SectionPlan>();
}

TEST(Plans, APlanThatFailsIsTriedAnew) {
  Plans plans(4);
  bool made = false;
  EXPECT_THROW(plans.find_or_create(
                   key_of(1), []() -> std::shared_ptr<const SectionPlan> { fail(ErrorCode::runtime, "no"); }, &made),
               Error);
  EXPECT_NE(plans.find_or_create(key_of(1), empty_plan, &made), nullptr);
  EXPECT_TRUE(made);
}

TEST(Plans, WhatNobodyHoldsIsDroppedFirst) {
  Plans plans(2);
  bool made = false;
  const auto held = plans.find_or_create(key_of(1), empty_plan, &made);
  plans.find_or_create(key_of(2), empty_plan, &made);
  plans.find_or_create(key_of(3), empty_plan, &made);  // replaces 2, although 1 is older
  EXPECT_EQ(plans.find_or_create(key_of(1), empty_plan, &made), held);
  EXPECT_FALSE(made);
  plans.find_or_create(key_of(3), empty_plan, &made);
  EXPECT_FALSE(made);
  plans.find_or_create(key_of(2), empty_plan, &made);
  EXPECT_TRUE(made);
}

TEST(Plans, OfOneKeyAreMadeByOneThread) {
  Plans plans(2);
  std::atomic<int> count = 0;
  run_concurrently(4, [&](int) {
    bool made = false;
    plans.find_or_create(
        key_of(1),
        [&] {
          ++count;
          return empty_plan();
        },
        &made);
  });
  EXPECT_EQ(count, 1);
}

TEST(SharedWeights, AreMadeOnceAndGoWithTheirUsers) {
  SharedWeights weights;
  std::byte bytes[8];
  TensorView view;
  view.data = bytes;
  view.dtype = DType::f32;
  view.rank = 1;
  view.sizes[0] = 2;
  view.strides[0] = 1;
  int made = 0;
  const auto make = [&]() -> std::shared_ptr<const void> { return std::make_shared<int>(++made); };
  auto first = weights.share(view, "a", make);
  EXPECT_EQ(weights.share(view, "a", make), first);
  EXPECT_NE(weights.share(view, "b", make), first);
  TensorView reversed = view;
  reversed.strides[0] = -1;
  EXPECT_NE(weights.share(reversed, "a", make), first);
  EXPECT_EQ(made, 3);
  first.reset();
  weights.share(view, "a", make);
  EXPECT_EQ(made, 4);
}

}  // namespace
}  // namespace tern
