// Small sums of ranks in shared memory; ranks are threads here, visible to sanitizers.
#include "runtime/collective/shared_sums.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <new>
#include <span>
#include <thread>
#include <vector>

#include "runtime/collective/messages.h"

namespace tern {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// Memory of all ranks, zeroed and aligned as an engine provides.
class Memory {
 public:
  explicit Memory(int ranks)
      : bytes_(SharedSums::kBytes * static_cast<std::size_t>(ranks)),
        memory_begin_(static_cast<std::byte*>(::operator new (bytes_, std::align_val_t{SharedSums::kAlignment}))) {
    std::fill_n(memory_begin_, bytes_, std::byte{});
    for (std::size_t at = 0; at < bytes_; at += SharedSums::kBytes) blocks_.push_back(memory_begin_ + at);
  }
  ~Memory() { ::operator delete (memory_begin_, std::align_val_t{SharedSums::kAlignment}); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::span<std::byte* const> blocks() const { return blocks_; }

 private:
  std::size_t bytes_;
  std::byte* memory_begin_;
  std::vector<std::byte*> blocks_;
};

class NoMessages : public Transport {
 public:
  explicit NoMessages(const Memory& memory) : memory_(memory) {}
  Request send(int, std::uint64_t, const void*, std::size_t) override { return nullptr; }
  Request receive(int, std::uint64_t, void*, std::size_t) override { return nullptr; }
  bool wait(Request, milliseconds) override { return false; }
  void interrupt() noexcept override { interrupted_ = true; }
  bool interrupted() const noexcept override { return interrupted_; }
  std::span<std::byte* const> shared() const override { return memory_.blocks(); }
  void close() noexcept override {}

 private:
  const Memory& memory_;
  std::atomic<bool> interrupted_{false};
};

Collective sum_of(const std::vector<float>& in, std::vector<float>& out) {
  return {.dtype = DType::f32, .count = static_cast<std::int64_t>(in.size()), .input = in.data(), .output = out.data()};
}

/// Integers have exact sums; every call has another size, and every other call writes in place. Each rank is late at
/// different calls, so that other ranks are ahead.
void add_often(const Memory& memory, int rank, int ranks) {
  constexpr int kCalls = 600, kMost = 3000, kLate = 50;
  NoMessages transport(memory);
  SharedSums sums(transport, rank, ranks);
  for (int call = 1; call <= kCalls; ++call) {
    std::vector<float> in(static_cast<std::size_t>(1 + call * 37 % kMost)), out(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>((rank + 1) * (call + static_cast<int>(i)));
    if (call % kLate == rank) std::this_thread::sleep_for(milliseconds(1));
    std::vector<float>& to = call % 2 == 0 ? in : out;
    ASSERT_TRUE(sums.supports_size(in.size() * sizeof(float)));
    sums.all_reduce(sum_of(in, to), static_cast<std::uint64_t>(call), Clock::now() + std::chrono::seconds(60));
    for (std::size_t i = 0; i < in.size(); ++i)
      ASSERT_EQ(to[i], static_cast<float>(ranks * (ranks + 1) / 2 * (call + static_cast<int>(i)))) << call;
  }
}

TEST(SharedSums, AddWhatAllRanksHaveWritten) {
  for (const int ranks : {2, 3, 5}) {
    const Memory memory(ranks);
    std::vector<std::future<void>> all;
    for (int r = 0; r < ranks; ++r)
      all.push_back(std::async(std::launch::async, [&memory, r, ranks] { add_often(memory, r, ranks); }));
    for (auto& rank : all) rank.get();
  }
}

TEST(SharedSums, TakeWhatFitsAndIsFasterThanMessages) {
  const Memory memory(8);
  NoMessages transport(memory);
  const SharedSums two(transport, 0, 2), eight(transport, 0, 8);
  EXPECT_FALSE(two.supports_size(0));
  EXPECT_TRUE(two.supports_size(32 << 10));
  EXPECT_FALSE(two.supports_size((32 << 10) + 1));
  EXPECT_TRUE(eight.supports_size(16 << 10));
  EXPECT_FALSE(eight.supports_size((16 << 10) + 1));
  EXPECT_FALSE(two.supports_size(static_cast<std::size_t>(-1)));
}

/// Rank 0 calls with the tag 7; rank 1 calls with `tag`, or not at all for 0. Returns the late peer, or -1.
int waits_for(std::uint64_t tag, bool interrupted) {
  const Memory memory(2);
  NoMessages transport(memory);
  std::vector<float> in(4), out(4);
  const auto add = [&](int rank, std::uint64_t as) {
    SharedSums(transport, rank, 2).all_reduce(sum_of(in, out), as, Clock::now() + milliseconds(20));
  };
  if (tag != 0) {
    EXPECT_THROW(add(1, tag), WaitedTooLong);
  }
  if (interrupted) transport.interrupt();
  try {
    add(0, 7);
  } catch (const WaitedTooLong& w) {
    return w.peer;
  }
  return -1;
}

TEST(SharedSums, CallsThatDifferNeverMeet) {
  EXPECT_EQ(waits_for(0, false), 1);
  EXPECT_EQ(waits_for(8, false), 1);
  EXPECT_EQ(waits_for(7, false), -1);
}

TEST(SharedSums, AnInterruptEndsTheWait) {
  EXPECT_THROW(waits_for(0, true), Error);
  EXPECT_EQ(waits_for(7, true), -1);  // all messages have arrived
}

}  // namespace
}  // namespace tern
