// Memory freed while work is pending: nobody waits, and no other stream gets the block too early. The test plugins and
// the emulated drivers delay all work as long as allowed.
#include <gtest/gtest.h>

#include "tests/devices/emulated_driver.h"
#include "tests/devices/test_devices.h"

namespace tern {
namespace {

using namespace testing;

constexpr std::uint64_t kFreedBytes = std::uint64_t{1} << 20;

class FreedMemoryTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (device() == "cpu") GTEST_SKIP() << "the CPU's work has ended when a call returns";
    const tern_device_event_functions* events = open_plugin_device(device()).tables().events;
    marks_ = events != nullptr && (events->flags & TERN_DEVICE_EVENTS_ANY_THREAD) != 0;
    is_late_ = device() == "full" || EmulatedDriver(device()).counters != nullptr;
  }
  void TearDown() override {
    if (device() != "cpu") set_device_memory_limit(device(), 0);
  }
  std::string device() const { return GetParam(); }
  Device& d() const { return Device::open(device()); }
  /// Waits by the host so far.
  std::uint64_t waits() const {
    const EmulatedDriver driver(device());
    if (driver.calls == nullptr) return 0;
    std::uint64_t n = 0;
    for (const char* function :
         {"cuStreamSynchronize", "cuEventSynchronize", "hipStreamSynchronize", "hipEventSynchronize"})
      n += driver.calls(function);
    return n;
  }
  bool marks_ = false;    ///< the device marks pending work
  bool is_late_ = false;  ///< work waits for the host
};
INSTANTIATE_TEST_SUITE_P(Devices, FreedMemoryTest, ::testing::ValuesIn(all_devices()), name_of_case);

/// Blocks of two streams: `source` holds ones; copies to `target` are pending.
struct PendingCopies {
  explicit PendingCopies(Device& d) : device(d), first(d.open_stream()), second(d.open_stream()) {
    source = d.allocate(kFreedBytes);
    target = d.allocate(kFreedBytes);
    ones.assign(kFreedBytes, std::byte{1});
    first->enqueue_upload(source, ones.data(), kFreedBytes);
    first->synchronize();
    for (DeviceStream* s : {first.get(), second.get()}) s->copy(bytes(source), bytes(target));
  }
  ~PendingCopies() {
    first->settle();
    second->settle();
    device.free(target);
  }
  static TensorView bytes(std::byte* data) {
    TensorView v{.data = data, .dtype = DType::u8, .rank = 1};
    v.sizes[0] = static_cast<std::int64_t>(kFreedBytes);
    v.strides[0] = 1;
    return v;
  }
  Device& device;
  std::shared_ptr<DeviceStream> first, second;
  std::byte *source = nullptr, *target = nullptr;
  std::vector<std::byte> ones;
};

TEST_P(FreedMemoryTest, FreeingWaitsForNoStream) {
  if (!marks_ || !is_late_) GTEST_SKIP() << "the device's work need not be late";
  PendingCopies p(d());
  const std::uint64_t before = waits(), used = d().memory().used;
  d().free(p.source);
  EXPECT_EQ(waits(), before);
  EXPECT_FALSE(p.first->has_finished());
  EXPECT_FALSE(p.second->has_finished());
  EXPECT_EQ(d().memory().used, used - kFreedBytes);
}

TEST_P(FreedMemoryTest, AnotherStreamWritesAfterThePendingReads) {
  PendingCopies p(d());
  d().free(p.source);
  const std::shared_ptr<DeviceStream> other = d().open_stream();
  std::byte* const fresh = d().allocate(kFreedBytes);
  const std::vector<std::byte> twos(kFreedBytes, std::byte{2});
  other->enqueue_upload(fresh, twos.data(), kFreedBytes);
  other->synchronize();
  p.second->synchronize();
  p.first->synchronize();
  std::vector<std::byte> copied(kFreedBytes);
  p.first->enqueue_download(copied.data(), p.target, kFreedBytes);
  p.first->synchronize();
  EXPECT_EQ(copied, p.ones);
  d().free(fresh);
}

TEST_P(FreedMemoryTest, TheOnlyUserReusesItAtOnce) {
  if (!marks_ || !is_late_) GTEST_SKIP() << "the device's work need not be late";
  PendingCopies p(d());
  p.second->synchronize();
  const std::uint64_t before = waits();
  d().free(p.source);
  std::byte* const other = d().allocate(kFreedBytes, p.second.get());
  EXPECT_NE(other, p.source);
  std::byte* const again = d().allocate(kFreedBytes, p.first.get());
  EXPECT_EQ(again, p.source);
  EXPECT_EQ(waits(), before);
  EXPECT_FALSE(p.first->has_finished());
  d().free(again);
  d().free(other);
}

TEST_P(FreedMemoryTest, WithoutFreeMemoryTheDeviceWaitsAndNotTheHost) {
  if (!marks_ || !is_late_) GTEST_SKIP() << "the device's work need not be late";
  release_device_memory(device());
  PendingCopies p(d());
  p.second->synchronize();
  set_device_memory_limit(device(), d().memory().reserved);
  std::vector<std::byte*> rest;  // everything that is free
  try {
    for (;;) rest.push_back(d().allocate(kFreedBytes));
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::out_of_memory);
  }
  d().free(p.source);
  const std::uint64_t before = waits(), failures = d().memory().out_of_memory;
  std::byte* const again = d().allocate(kFreedBytes, p.second.get());
  EXPECT_EQ(again, p.source);
  EXPECT_EQ(waits(), before);
  EXPECT_EQ(d().memory().out_of_memory, failures);
  const std::vector<std::byte> twos(kFreedBytes, std::byte{2});
  p.second->enqueue_upload(again, twos.data(), kFreedBytes);
  p.second->synchronize();  // runs the copy of the first stream before
  std::vector<std::byte> copied(kFreedBytes);
  p.first->enqueue_download(copied.data(), p.target, kFreedBytes);
  p.first->synchronize();
  EXPECT_EQ(copied, p.ones);
  // Memory for any stream: the host waits.
  p.first->copy(PendingCopies::bytes(again), PendingCopies::bytes(p.target));
  d().free(again);
  std::byte* const last = d().allocate(kFreedBytes);
  EXPECT_EQ(last, again);
  EXPECT_GT(waits() + (device() == "full" ? 1 : 0), before);
  d().free(last);
  for (std::byte* b : rest) d().free(b);
}

}  // namespace
}  // namespace tern
