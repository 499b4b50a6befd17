// Accounts of threads and simulated cores, from artificial intervals.
#include <gtest/gtest.h>

#include <vector>

#include "tools/scaling/account.h"
#include "tools/scaling/simulate.h"

namespace tern {
namespace {

NodeLoops node_of(double length, std::vector<LoopTime> loops) {
  return {0, 0, 10, 10 + length, std::move(loops)};
}

/// Seconds 1 to 9 of 10 pass in a loop on threads 0, 1 and 2 of four. Thread 1 begins its part at 2; thread 2 has two
/// parts with a second in between.
LoopTime uneven() {
  return {11, 19, {}, false, {{0, 11, 19}, {1, 12, 16}, {2, 11, 13}, {2, 14, 18}}};
}

TEST(ScalingAccount, EverySecondOfEveryThreadIsCounted) {
  const std::vector<NodeLoops> runs = {node_of(10, {uneven()})};
  const ThreadSeconds a = account(runs, 4, 18);
  EXPECT_DOUBLE_EQ(a.wall, 10);
  EXPECT_DOUBLE_EQ(a.serial, 3 * 2);                     // the seconds before and after the loop
  EXPECT_DOUBLE_EQ(a.unassigned, 8);                     // the fourth thread
  EXPECT_DOUBLE_EQ(a.starting, 1);                       // thread 1
  EXPECT_DOUBLE_EQ(a.waiting, 3 + 1 + 1);                // thread 1; thread 2 at its end, and between its parts
  EXPECT_DOUBLE_EQ(a.slowdown, 2 + 8 + 4 + 2 + 4 - 18);  // serial time and parts, less the time on a single thread
  EXPECT_DOUBLE_EQ(a.total(), 4 * 10);
}

TEST(ScalingAccount, LessWorkThanOnOneThread) {
  const std::vector<NodeLoops> runs = {node_of(10, {uneven()}), node_of(2, {})};
  const ThreadSeconds a = account(runs, 4, 30);
  EXPECT_LT(a.slowdown, 0);
  EXPECT_DOUBLE_EQ(a.total(), 4 * 12);
}

TEST(ScalingAccount, OneThreadLosesNothing) {
  const std::vector<NodeLoops> runs = {node_of(10, {})};
  const ThreadSeconds a = account(runs, 1, 10);
  EXPECT_DOUBLE_EQ(a.useful, 10);
  EXPECT_DOUBLE_EQ(a.total() - a.useful, 0);
}

TEST(ScalingAccount, NothingIsKnownOfOpenMp) {
  LoopTime library = uneven();
  library.openmp = true;
  library.chunks.clear();
  const std::vector<NodeLoops> runs = {node_of(10, {library})};
  const ThreadSeconds a = account(runs, 4, 18);
  EXPECT_DOUBLE_EQ(a.openmp, 40 - 18);
  EXPECT_DOUBLE_EQ(a.total(), 40);
  EXPECT_DOUBLE_EQ(a.idle() + a.waits() + a.slowdown, 0);
}

/// Successive parts of these lengths.
LoopTime sequential_loop(const std::vector<double>& lengths, ThreadPool::Note note = {0, 0}) {
  LoopTime l{11, 11, note, false, {}};
  for (const double length : lengths) {
    l.chunks.push_back({0, l.end, l.end + length});
    l.end += length;
  }
  return l;
}

TEST(ScalingSimulation, TheLongestPartAndTheBarrier) {
  const NodeLoops run = node_of(8, {sequential_loop({1, 3, 2})});  // two serial seconds
  const NodeLoops s = simulate(run, {8, 0.5, 1e9}, 0);
  EXPECT_DOUBLE_EQ(s.end - s.begin, 2 + 3 + 0.5);
  const ThreadSeconds a = account({&s, 1}, 8, 8);
  EXPECT_DOUBLE_EQ(a.total(), 8 * 5.5);
  EXPECT_DOUBLE_EQ(a.unassigned, 5 * 3.5);
}

TEST(ScalingSimulation, MorePartsThanCores) {
  const NodeLoops run = node_of(12, {sequential_loop({3, 3, 2, 2, 2})});
  const NodeLoops s = simulate(run, {2, 0, 1e9}, 0);
  EXPECT_DOUBLE_EQ(s.end - s.begin, 3 + 2 + 2);
}

TEST(ScalingSimulation, PiecesEvenOutParts) {
  const std::vector<double> lengths = {5, 1, 1, 1};
  const NodeLoops fixed = simulate(node_of(8, {sequential_loop(lengths)}), {4, 0, 1e9}, 0);
  EXPECT_DOUBLE_EQ(fixed.end - fixed.begin, 5);
  const NodeLoops pieces = simulate(node_of(8, {sequential_loop(lengths, {0, 32})}), {4, 0, 1e9}, 0);
  EXPECT_DOUBLE_EQ(pieces.end - pieces.begin, 2 + 0.125);  // half a piece more than the mean
  const NodeLoops few = simulate(node_of(8, {sequential_loop(lengths, {0, 2})}), {4, 0, 1e9}, 0);
  EXPECT_GE(few.end - few.begin, 4);  // no piece is divided
}

TEST(ScalingSimulation, MemoryIsShared) {
  const NodeLoops run = node_of(4, {sequential_loop({1, 1, 1, 1}, {100, 0})});
  // 200 bytes of weights, and 100 more for each part but the first, at 100 bytes a second.
  const NodeLoops s = simulate(run, {4, 0, 100}, 200);
  EXPECT_DOUBLE_EQ(s.end - s.begin, 5);
  const ThreadSeconds a = account({&s, 1}, 4, 4);
  EXPECT_DOUBLE_EQ(a.slowdown, 4 * 5 - 4);
  EXPECT_DOUBLE_EQ(a.total(), 4 * 5);
}

}  // namespace
}  // namespace tern
