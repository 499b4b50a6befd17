// Loops whose threads steal pieces of each other's shares.
#include "threads/pieces.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tern {
namespace {

TEST(Pieces, EachItemOnce) {
  for (const int threads : {1, 2, 3, 8, 40}) {
    const ThreadScope scope{Threads(threads)};
    for (std::int64_t n = 0; n < 120; n += 7) {
      for (const std::int64_t piece : {1, 2, 5, 200}) {
        std::vector<std::atomic<int>> taken(static_cast<std::size_t>(n));
        parallel_pieces(n, piece, 1, [&](Pieces& pieces) {
          for (Pieces::Range r = pieces.next(); !r.empty(); r = pieces.next()) {
            for (std::int64_t i = r.begin; i < r.end; ++i) ++taken[static_cast<std::size_t>(i)];
          }
        });
        for (const std::atomic<int>& times : taken) ASSERT_EQ(times, 1) << threads << " threads, n " << n;
      }
    }
  }
}

/// The thread with item 0 blocks until the other thread has done all but one of the remaining items of the first share.
TEST(Pieces, AThreadThatIsHeldUpIsHelped) {
  constexpr std::int64_t kItems = 64;
  const ThreadScope scope{Threads(2)};
  std::atomic<std::int64_t> done = 0;
  std::atomic<std::int64_t> of_first = 0;
  parallel_pieces(kItems, 1, 1, [&](Pieces& pieces) {
    bool first = false;
    for (Pieces::Range r = pieces.next(); !r.empty(); r = pieces.next()) {
      first = first || r.begin == 0;
      while (r.begin == 0 && done < kItems - 2) std::this_thread::yield();
      done += r.end - r.begin;
      if (first) of_first += r.end - r.begin;
    }
  });
  EXPECT_EQ(done, kItems);
  EXPECT_LE(of_first, 2);
}

TEST(Pieces, ExceptionsReachTheCaller) {
  const ThreadScope scope{Threads(4)};
  const auto fails = [](Pieces& pieces) {
    if (pieces.next().begin == 0) throw std::runtime_error("first");
    while (!pieces.next().empty()) {
    }
  };
  EXPECT_THROW(parallel_pieces(16, 1, 1, fails), std::runtime_error);
}

TEST(Pieces, OneThreadTakesAllAtOnce) {
  const ThreadScope scope{Threads(1)};
  parallel_pieces(10, 1, 1, [&](Pieces& pieces) {
    const Pieces::Range r = pieces.next();
    EXPECT_EQ(r.begin, 0);
    EXPECT_EQ(r.end, 10);
    EXPECT_TRUE(pieces.next().empty());
  });
}

}  // namespace
}  // namespace tern
