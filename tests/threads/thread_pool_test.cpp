// The pool of threads shared by kernels.
#include "threads/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/threads/sum.h"
#include "threads/openmp.h"
#include "threads/parallel.h"

namespace tern {
namespace {

TEST(ThreadPool, EachPartOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    const ThreadScope scope{Threads(threads)};
    for (std::int64_t n = 0; n < 200; ++n) ASSERT_EQ(sum_below(n), n * (n - 1) / 2);
  }
}

TEST(ThreadPool, ManyCallersAtOnce) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int c = 0; c < 24; ++c) {
    callers.emplace_back([&] {
      const ThreadScope scope{Threads(4)};
      for (int i = 0; i < 500; ++i) wrong += sum_below(100 + i) != (100 + i) * (99 + i) / 2;
    });
  }
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, PartsOfPartsStayOnTheirThread) {
  const ThreadScope scope{Threads(4)};
  std::atomic<int> wrong = 0;
  parallel_for(8, 1, [&](std::int64_t, std::int64_t) {
    const auto self = std::this_thread::get_id();
    parallel_for(8, 1, [&](std::int64_t begin, std::int64_t end) {
      wrong += std::this_thread::get_id() != self || begin != 0 || end != 8;
    });
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(Threads::current(), Threads(4));
  EXPECT_EQ(openmp::max_threads(), 4);
}

TEST(ThreadPool, ExceptionsReachTheCaller) {
  const ThreadScope scope{Threads(4)};
  for (int i = 0; i < 100; ++i) {
    EXPECT_THROW(parallel_for(4, 1,
                              [](std::int64_t begin, std::int64_t) {
                                if (begin % 2 == 1) throw std::runtime_error("odd");
                              }),
                 std::runtime_error);
  }
  EXPECT_EQ(sum_below(10), 45);
}

}  // namespace
}  // namespace tern
