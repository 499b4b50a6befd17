// The number of threads of a run, and the unchanged setting of OpenMP.
#include "threads/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "threads/openmp.h"
#include "threads/parallel.h"

namespace tern {
namespace {

/// The application's own setting, for the length of a test.
class OpenMp {
 public:
  explicit OpenMp(int threads) : previous_threads_(openmp::max_threads()) { openmp::set_max_threads(threads); }
  ~OpenMp() { openmp::set_max_threads(previous_threads_); }

 private:
  int previous_threads_;
};

std::size_t parts_of_loop() {
  std::mutex mutex;
  std::set<std::int64_t> begins;
  parallel_for(1000, 1, [&](std::int64_t begin, std::int64_t) {
    const std::lock_guard lock(mutex);
    begins.insert(begin);
  });
  return begins.size();
}

TEST(Threads, OutsideAScopeAreThoseOfOpenMp) {
  const OpenMp application(5);
  EXPECT_EQ(Threads::current(), Threads(5));
  EXPECT_EQ(Threads::chosen(0), Threads(5));
  EXPECT_EQ(Threads::chosen(2), Threads(2));
  EXPECT_EQ(parts_of_loop(), 5u);
}

TEST(Threads, ScopesNestAndPutOpenMpsSettingBack) {
  const OpenMp application(5);
  {
    const ThreadScope outer(Threads(3));
    EXPECT_EQ(openmp::max_threads(), 3);
    EXPECT_EQ(parts_of_loop(), 3u);
    {
      const ThreadScope inner(Threads(1));
      EXPECT_EQ(openmp::max_threads(), 1);
      EXPECT_EQ(parts_of_loop(), 1u);
    }
    EXPECT_EQ(openmp::max_threads(), 3);
    EXPECT_EQ(parts_of_loop(), 3u);
  }
  EXPECT_EQ(openmp::max_threads(), 5);
  EXPECT_EQ(Threads::current(), Threads(5));
}

TEST(Threads, AScopeDoesNotFollowOpenMpsSetting) {
  const OpenMp application(5);
  {
    const ThreadScope scope(Threads(3));
    openmp::set_max_threads(7);  // a library's setting
    EXPECT_EQ(parts_of_loop(), 3u);
  }
  EXPECT_EQ(openmp::max_threads(), 5);
}

TEST(Threads, ExceptionsPutOpenMpsSettingBack) {
  const OpenMp application(5);
  EXPECT_THROW(
      {
        const ThreadScope scope(Threads(2));
        parallel_for(8, 1, [](std::int64_t, std::int64_t) { throw std::runtime_error("no"); });
      },
      std::runtime_error);
  EXPECT_EQ(openmp::max_threads(), 5);
  EXPECT_EQ(Threads::current(), Threads(5));
}

TEST(Threads, EachThreadHasItsOwn) {
  const ThreadScope scope(Threads(3));
  std::thread other([] {
    EXPECT_EQ(Threads::current(), Threads::openmp_default());
    const ThreadScope its_own(Threads(2));
    for (int i = 0; i < 100; ++i) EXPECT_EQ(parts_of_loop(), 2u);
  });
  for (int i = 0; i < 100; ++i) EXPECT_EQ(parts_of_loop(), 3u);
  other.join();
}

TEST(Threads, PartsOfALoopAreOne) {
  const ThreadScope scope(Threads(4));
  std::atomic<int> wrong = 0;
  parallel_for(4, 1, [&](std::int64_t, std::int64_t) {
    wrong += Threads::current() != Threads(1) || openmp::max_threads() != 1;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, InParallelRegionsOfTheApplicationTheyAreOne) {
  std::atomic<int> wrong = 0;
#pragma omp parallel num_threads(2)
  {
    if (openmp::in_parallel()) wrong += Threads::chosen(0) != Threads(1) || Threads::chosen(4) != Threads(1);
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tern
