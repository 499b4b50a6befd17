// Records of loops: their parts, and the parts' owners. The tests ignore times.
#include "threads/loop_recorder.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "threads/parallel.h"
#include "threads/pieces.h"

namespace tern {
namespace {

void loop_of(std::int64_t n) {
  parallel_for(n, 1, [](std::int64_t, std::int64_t) { parallel_for(9, 1, [](std::int64_t, std::int64_t) {}); });
}

TEST(LoopRecorder, LoopsBelongToNodes) {
  const ThreadScope scope{Threads(3)};
  LoopRecorder recorder(LoopRecorder::Mode::together);
  {
    const RecorderScope recorded(&recorder);
    loop_of(2);
    loop_of(7);
    recorder.end_node(4, 5, 0, 1);
    parallel_for(1, 1, [](std::int64_t, std::int64_t) {});  // a single part is no loop
    recorder.end_node(4, 6, 1, 2);
    std::thread([] { loop_of(3); }).join();  // another thread's
  }
  loop_of(3);
  const std::vector<NodeLoops> nodes = recorder.take_nodes();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].function, 4u);
  EXPECT_EQ(nodes[0].node, 5u);
  ASSERT_EQ(nodes[0].loops.size(), 2u);
  EXPECT_EQ(nodes[0].loops[0].chunks.size(), 2u);
  EXPECT_EQ(nodes[0].loops[1].chunks.size(), 3u);
  EXPECT_TRUE(nodes[1].loops.empty());
  for (const LoopTime& l : nodes[0].loops) {
    for (const ChunkTime& p : l.chunks) {
      EXPECT_LE(l.begin, p.begin);
      EXPECT_LE(p.begin, p.end);
      EXPECT_LE(p.end, l.end);
    }
  }
  EXPECT_TRUE(recorder.take_nodes().empty());
}

TEST(LoopRecorder, InTurnTheCallerDoesAllParts) {
  const ThreadScope scope{Threads(32)};
  LoopRecorder recorder(LoopRecorder::Mode::serial);
  const RecorderScope recorded(&recorder);
  std::set<std::thread::id> threads;
  std::vector<std::int64_t> begins;
  parallel_for(32, 1, [&](std::int64_t begin, std::int64_t) {
    threads.insert(std::this_thread::get_id());
    begins.push_back(begin);
    EXPECT_EQ(Threads::current(), Threads(1));
  });
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
  EXPECT_EQ(begins.size(), 32u);
  recorder.end_node(0, 0, 0, 1);
  const std::vector<NodeLoops> nodes = recorder.take_nodes();
  const std::vector<ChunkTime>& parts = nodes.at(0).loops.at(0).chunks;
  ASSERT_EQ(parts.size(), 32u);
  for (std::size_t i = 1; i < parts.size(); ++i) EXPECT_LE(parts[i - 1].end, parts[i].begin);
}

TEST(LoopRecorder, InTurnNobodyTakesPiecesOfAnother) {
  const ThreadScope scope{Threads(4)};
  LoopRecorder recorder(LoopRecorder::Mode::serial);
  const RecorderScope recorded(&recorder);
  std::vector<std::int64_t> items;
  parallel_pieces(16, 2, 1, [&](Pieces& pieces) {
    std::int64_t own = 0;
    for (Pieces::Range r = pieces.next(); !r.empty(); r = pieces.next()) own += r.end - r.begin;
    items.push_back(own);
  });
  EXPECT_EQ(items, (std::vector<std::int64_t>{4, 4, 4, 4}));
  recorder.end_node(0, 0, 0, 1);
  EXPECT_EQ(recorder.take_nodes().at(0).loops.at(0).note.pieces, 8);
}

TEST(LoopRecorder, LibrariesWithOpenMp) {
  LoopRecorder recorder(LoopRecorder::Mode::together);
  const RecorderScope recorded(&recorder);
  for (const int threads : {1, 2}) {
    const ThreadScope scope{Threads(threads)};
    const OpenMpScope openmp;
  }
  recorder.end_node(0, 0, 0, 1);
  const std::vector<NodeLoops> nodes = recorder.take_nodes();
  ASSERT_EQ(nodes.at(0).loops.size(), 1u);  // a single thread records no loop
  EXPECT_TRUE(nodes.at(0).loops[0].openmp);
}

}  // namespace
}  // namespace tern
