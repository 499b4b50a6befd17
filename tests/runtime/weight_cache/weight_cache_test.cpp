// The weight cache from the view of prepared programs.
#include "runtime/weight_cache/weight_cache.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/weight_cache/temporary_folder.h"
#include "threads/threads.h"

namespace tern::testing {
namespace {

class WeightCacheTest : public ::testing::Test {
 protected:
  std::size_t files() const { return folder_.names().size(); }
  auto packer(std::size_t size, std::uint32_t seed = 1) {
    return [this, size, seed] {
      ++pack_count_;
      return some_bytes(size, seed);
    };
  }

  TemporaryFolder folder_;
  std::atomic<int> pack_count_{0};
};

TEST_F(WeightCacheTest, WhatIsOfferedIsFoundByOthers) {
  WeightCache first(folder_.path());
  EXPECT_TRUE(first.find("weight", "layout").empty());
  first.offer("weight", "layout", packer(100'000));
  first.wait();
  EXPECT_TRUE(first.find("weight", "layout").empty()) << "a program keeps the bytes that it began with";
  WeightCache second(folder_.path()), third(folder_.path());
  for (WeightCache* cache : {&second, &third}) {
    const auto found = cache->find("weight", "layout");
    EXPECT_TRUE(std::ranges::equal(found, some_bytes(100'000)));
    EXPECT_EQ(found.data(), cache->find("weight", "layout").data());
  }
  EXPECT_EQ(first.problem(), "");
}

TEST_F(WeightCacheTest, IdentityAndKeyBothCount) {
  WeightCache cache(folder_.path());
  cache.offer("weight", "layout", packer(100));
  cache.wait();
  EXPECT_TRUE(cache.find("weight", "layou").empty());
  EXPECT_TRUE(cache.find("other", "layout").empty());
  EXPECT_TRUE(cache.find("layout", "weight").empty());
  EXPECT_TRUE(cache.find("weight 6 layout", "").empty());
}

TEST_F(WeightCacheTest, BytesWithoutIdentityAreNotKept) {
  WeightCache cache(folder_.path());
  cache.offer("", "layout", packer(100));
  cache.wait();
  EXPECT_TRUE(cache.find("", "layout").empty());
  EXPECT_EQ(pack_count_, 0);
}

TEST_F(WeightCacheTest, NothingIsPackedTwice) {
  WeightCache first(folder_.path()), second(folder_.path());
  for (int i = 0; i < 3; ++i) first.offer("weight", "layout", packer(100));
  first.wait();
  second.offer("weight", "layout", packer(100));  // already on disk
  second.wait();
  WeightCache third(folder_.path());
  EXPECT_FALSE(third.find("weight", "layout").empty());
  third.offer("weight", "layout", packer(100));  // already mapped
  third.wait();
  EXPECT_EQ(pack_count_, 1);
}

TEST_F(WeightCacheTest, WithoutAFolderNothingHappens) {
  const TemporaryFolder shared;
  ASSERT_EQ(::chmod(shared.path().c_str(), 0777), 0);
  for (const std::string& choice : {std::string("off"), shared.path()}) {
    WeightCache cache(choice);
    cache.offer("weight", "layout", packer(100));
    cache.wait();
    EXPECT_TRUE(cache.find("weight", "layout").empty());
    EXPECT_NE(cache.problem(), "");
  }
  EXPECT_EQ(pack_count_, 0);
  EXPECT_TRUE(shared.names().empty());
}

TEST_F(WeightCacheTest, AMakeThatThrowsDropsItsJobAlone) {
  WeightCache cache(folder_.path());
  cache.offer("a", "layout", []() -> std::vector<std::byte> { throw std::runtime_error("damaged"); });
  cache.offer("b", "layout", []() -> std::vector<std::byte> { throw 1; });
  cache.offer("c", "layout", [] { return std::vector<std::byte>(); });
  cache.offer("d", "layout", packer(100));
  cache.wait();
  EXPECT_EQ(files(), 1u);
  EXPECT_FALSE(WeightCache(folder_.path()).find("d", "layout").empty());
}

TEST_F(WeightCacheTest, TheEndWaitsForTheJobThatRunsAndDropsTheOthers) {
  std::promise<void> begun, go;
  auto cache = std::make_unique<WeightCache>(folder_.path());
  const auto held = std::make_shared<int>();
  cache->offer("first", "layout", [&] {
    begun.set_value();
    go.get_future().wait();
    return some_bytes(100);
  });
  for (int i = 0; i < 10; ++i) {
    cache->offer(std::to_string(i), "layout", [held, make = packer(100)] { return make(); });
  }
  begun.get_future().wait();
  std::thread ends([&] { cache.reset(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  go.set_value();
  ends.join();
  EXPECT_EQ(pack_count_, 0);
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(WeightCacheTest, OneWeightAtATimeOnOneThreadOfLowPriority) {
  WeightCache cache(folder_.path());
  std::atomic<int> running{0}, most{0}, priority{0}, threads{0};
  for (int i = 0; i < 8; ++i) {
    cache.offer(std::to_string(i), "layout", [&] {
      most = std::max<int>(most, ++running);
      priority = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
      threads = Threads::current().count();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      --running;
      return some_bytes(100);
    });
  }
  const int before = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
  cache.wait();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(threads, 1);
  EXPECT_EQ(priority, std::max(before, 15));
  EXPECT_EQ(::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid())), before);
  EXPECT_EQ(files(), 8u);
}

TEST_F(WeightCacheTest, WeightsThatDoNotFitAreNotPackedInVain) {
  const Variable limit("TERN_WEIGHT_CACHE_MB", "1");
  WeightCache cache(folder_.path());
  for (int i = 0; i < 10; ++i) cache.offer(std::to_string(i), "layout", packer(400'000));
  cache.wait();
  EXPECT_EQ(files(), 2u);
  EXPECT_EQ(pack_count_, 3);
  // The next run keeps the files already used.
  WeightCache next(folder_.path());
  EXPECT_FALSE(next.find("0", "layout").empty());
  EXPECT_FALSE(next.find("1", "layout").empty());
  EXPECT_TRUE(next.find("2", "layout").empty());
}

TEST_F(WeightCacheTest, ManyThreadsAndTwoPrograms) {
  WeightCache first(folder_.path()), second(folder_.path());
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      WeightCache& cache = t % 2 == 0 ? first : second;
      for (std::uint32_t i = 0; i < 20; ++i) {
        const auto found = cache.find(std::to_string(i), "layout");
        EXPECT_TRUE(found.empty() || std::ranges::equal(found, some_bytes(50'000, i)));
        cache.offer(std::to_string(i), "layout", packer(50'000, i));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  first.wait();
  second.wait();
  EXPECT_EQ(files(), 20u);
  WeightCache later(folder_.path());
  for (std::uint32_t i = 0; i < 20; ++i)
    EXPECT_TRUE(std::ranges::equal(later.find(std::to_string(i), "layout"), some_bytes(50'000, i)));
}

// A forked child has its parent's cache, but not the cache's thread.
TEST_F(WeightCacheTest, AForkedChildEnds) {
  WeightCache cache(folder_.path());
  std::promise<void> begun, go;
  cache.offer("first", "layout", [&] {
    begun.set_value();
    go.get_future().wait();
    return some_bytes(100);
  });
  begun.get_future().wait();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(20);
    cache.offer("second", "layout", packer(100));
    cache.wait();
    const bool right = cache.find("second", "layout").empty();
    cache.~WeightCache();
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  go.set_value();
  cache.wait();
  EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace tern::testing
