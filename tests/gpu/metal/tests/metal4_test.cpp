// Errors of the stand-in for Metal 4, and reordering of unordered commands.
#include "tests/gpu/metal/tests/support.h"

namespace {

constexpr uint64_t kStages = 1ull << 27 | 1ull << 28;  // dispatches and blits
constexpr uint64_t kBytes = 64;

class Metal4 : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_metal4()) GTEST_SKIP() << "this system has Metal 3";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    pool = send<void*>(send<void*>(objc_lookUpClass("NSAutoreleasePool"), "alloc"), "init");
    devices = MTLCopyAllDevices();
    device = send<void*>(devices, "objectAtIndex:", uint64_t{0});
    queue = create_object("newMTL4CommandQueue");
    allocator = create_object("newCommandAllocator");
    commands = create_object("newCommandBuffer");
    event = create_object("newSharedEvent");
    void* descriptor = send<void*>(send<void*>(objc_lookUpClass("MTLResidencySetDescriptor"), "alloc"), "init");
    owned.push_back(descriptor);
    set = send<void*>(device, "newResidencySetWithDescriptor:error:", descriptor, static_cast<void**>(nullptr));
    owned.push_back(set);
    send<void>(queue, "addResidencySet:", set);
    for (void*& buffer : buffers) {
      buffer = send<void*>(device, "newBufferWithLength:options:", kBytes, uint64_t{0});
      owned.push_back(buffer);
    }
  }
  void TearDown() override {
    for (auto at = owned.rbegin(); at != owned.rend(); ++at) send<void>(*at, "release");
    send<void>(devices, "release");
    send<void>(pool, "release");
  }

  void* create_object(const char* selector) {
    owned.push_back(send<void*>(device, selector));
    return owned.back();
  }
  void reside() {
    for (void* buffer : buffers) send<void>(set, "addAllocation:", buffer);
    send<void>(set, "commit");
  }
  void* encoder(bool ordered = true) {
    send<void>(commands, "beginCommandBufferWithAllocator:", allocator);
    void* begun = send<void*>(commands, "computeCommandEncoder");
    if (ordered)
      send<void>(begun, "barrierAfterQueueStages:beforeStages:visibilityOptions:", kStages, kStages, uint64_t{1});
    return begun;
  }
  void copy(void* on, int from, int to) {
    send<void>(on, "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", buffers[from], uint64_t{0},
               buffers[to], uint64_t{0}, kBytes);
  }
  void end(void* encoder) {
    send<void>(encoder, "endEncoding");
    send<void>(commands, "endCommandBuffer");
  }
  void commit() {
    void* const given[] = {commands};
    send<void>(queue, "commit:count:options:", static_cast<void* const*>(given), uint64_t{1},
               static_cast<void*>(nullptr));
    send<void>(queue, "signalEvent:value:", event, ++value);
  }
  void wait() { send<bool>(event, "waitUntilSignaledValue:timeoutMS:", value, uint64_t{1000}); }
  char& buffer_byte(int buffer) { return *static_cast<char*>(send<void*>(buffers[buffer], "contents")); }

  void *pool = nullptr, *devices = nullptr, *device = nullptr, *queue = nullptr, *allocator = nullptr,
       *commands = nullptr, *event = nullptr, *set = nullptr, *buffers[3] = {};
  std::vector<void*> owned;
  uint64_t value = 0;
};

TEST_F(Metal4, CommandsWithoutABarrierRunInTheOtherOrder) {
  reside();
  for (const bool barrier : {false, true}) {
    for (int i = 0; i < 3; ++i) buffer_byte(i) = static_cast<char>('a' + i);
    void* on = encoder();
    copy(on, 0, 1);
    if (barrier)
      send<void>(on, "barrierAfterEncoderStages:beforeEncoderStages:visibilityOptions:", kStages, kStages, uint64_t{1});
    copy(on, 1, 2);
    end(on);
    commit();
    EXPECT_EQ(buffer_byte(1), 'b') << "work is late";
    wait();
    EXPECT_EQ(buffer_byte(2), barrier ? 'a' : 'b');
    send<void>(allocator, "reset");
  }
}

TEST_F(Metal4, MemoryHasToBeResidentWhenItsChangesWereCommitted) {
  for (void* buffer : buffers) send<void>(set, "addAllocation:", buffer);
  void* on = encoder();
  copy(on, 0, 1);
  end(on);
  EXPECT_DEATH(commit(), "which no residency set of the queue holds");
}

TEST_F(Metal4, AnEncoderIsOrderedAfterEarlierWork) {
  reside();
  void* on = encoder(false);
  EXPECT_DEATH(copy(on, 0, 1), "no barrier orders it");
  end(on);
}

TEST_F(Metal4, WhatIsCommittedHasEnded) {
  reside();
  void* on = encoder();
  copy(on, 0, 1);
  EXPECT_DEATH(commit(), "a command buffer was not ended");
  end(on);
  commit();
  EXPECT_DEATH(commit(), "was committed before");
  wait();
}

TEST_F(Metal4, AnAllocatorIsUsedAgainWhenItsCommandsHaveRun) {
  reside();
  void* on = encoder();
  copy(on, 0, 1);
  EXPECT_DEATH(send<void>(allocator, "reset"), "runs or is open");
  end(on);
  commit();
  EXPECT_DEATH(send<void>(allocator, "reset"), "runs or is open");
  wait();
  send<void>(allocator, "reset");
}

TEST_F(Metal4, NothingIsRetained) {
  reside();
  void* on = encoder();
  copy(on, 0, 1);
  end(on);
  commit();
  EXPECT_DEATH(
      {
        send<void>(set, "removeAllocation:", buffers[0]);
        send<void>(set, "commit");
        send<void>(buffers[0], "release");
        wait();
      },
      "runs after its source was given up");
  wait();
}

}  // namespace
