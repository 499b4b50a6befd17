// The stand-in ends programs that Metal's validation would end. Tests send messages to its objects directly.
#include "tests/gpu/metal/tests/support.h"

namespace {

struct Size {
  uint64_t width, height, depth;
};

class Rules : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    pool = send<void*>(send<void*>(objc_lookUpClass("NSAutoreleasePool"), "alloc"), "init");
    devices = MTLCopyAllDevices();
    device = send<void*>(devices, "objectAtIndex:", uint64_t{0});
    queue = send<void*>(device, "newCommandQueue");
    buffer = send<void*>(device, "newBufferWithLength:options:", uint64_t{64}, uint64_t{0});
    commands = send<void*>(queue, "commandBuffer");
  }
  void TearDown() override {
    for (void* object : {buffer, queue, devices}) send<void>(object, "release");
    send<void>(pool, "release");
  }
  void* compute() { return send<void*>(commands, "computeCommandEncoderWithDispatchType:", uint64_t{0}); }

  void *pool = nullptr, *devices = nullptr, *device = nullptr, *queue = nullptr, *buffer = nullptr, *commands = nullptr;
};

TEST_F(Rules, AMessageToNullDoesNothing) {
  EXPECT_EQ(send<uint64_t>(nullptr, "count"), 0u);
}

TEST_F(Rules, AnUnknownSelectorIsNamed) {
  EXPECT_DEATH(send<void>(buffer, "didModifyRange:"), "a MTLBuffer gets the message didModifyRange:");
}

TEST_F(Rules, AFreedObjectIsNoticed) {
  void* second = send<void*>(device, "newBufferWithLength:options:", uint64_t{64}, uint64_t{0});
  send<void>(second, "release");
  EXPECT_DEATH(send<void*>(second, "contents"), "a freed MTLBuffer gets the message contents");
  EXPECT_DEATH(send<void>(second, "release"), "a freed MTLBuffer gets the message release");
}

TEST_F(Rules, FreedMemoryFaults) {
  auto* second = static_cast<void*>(send<void*>(device, "newBufferWithLength:options:", uint64_t{64}, uint64_t{0}));
  volatile auto* bytes = static_cast<char*>(send<void*>(second, "contents"));
  EXPECT_EQ(bytes[0], -1) << "fresh memory is poisoned";
  send<void>(second, "release");
  EXPECT_DEATH(bytes[0] = 1, "freed by its last release");
}

TEST_F(Rules, TheAddressOfTheGpuIsNotTheHosts) {
  EXPECT_NE(send<uint64_t>(buffer, "gpuAddress"), reinterpret_cast<uint64_t>(send<void*>(buffer, "contents")));
}

TEST_F(Rules, EncodersEndBeforeTheirBufferGoesOn) {
  void* encoder = compute();
  EXPECT_DEATH(compute(), "an encoder of the command buffer is open");
  EXPECT_DEATH(send<void>(commands, "commit"), "an encoder of the command buffer is open");
  send<void>(encoder, "endEncoding");
  EXPECT_DEATH(send<void>(encoder, "setBuffer:offset:atIndex:", buffer, uint64_t{0}, uint64_t{0}),
               "the encoder was ended");
  EXPECT_DEATH(send<void>(encoder, "endEncoding"), "the encoder was ended");
  send<void>(commands, "commit");
  EXPECT_DEATH(compute(), "the command buffer was committed");
  EXPECT_DEATH(send<void>(commands, "commit"), "the command buffer was committed");
  send<void>(commands, "waitUntilCompleted");
}

TEST_F(Rules, AWaitForWhatNobodyCommitted) {
  EXPECT_DEATH(send<void>(commands, "waitUntilCompleted"), "it never completes");
  void* event = send<void*>(device, "newSharedEvent");
  send<void>(commands, "encodeWaitForEvent:value:", event, uint64_t{1});
  EXPECT_DEATH(send<void>(commands, "commit"), "a signal that none was committed with");
  send<void>(event, "release");
}

TEST_F(Rules, LimitsOfBindings) {
  void* encoder = compute();
  EXPECT_DEATH(send<void>(encoder, "setBuffer:offset:atIndex:", buffer, uint64_t{64}, uint64_t{0}),
               "offset 64 of a buffer of 64 bytes");
  EXPECT_DEATH(send<void>(encoder, "setBuffer:offset:atIndex:", buffer, uint64_t{0}, uint64_t{31}), "index 31");
  EXPECT_DEATH(send<void>(encoder, "setBytes:length:atIndex:", "", uint64_t{4097}, uint64_t{0}), "4097 bytes");
  EXPECT_DEATH(send<void>(encoder, "dispatchThreads:threadsPerThreadgroup:", Size{1, 1, 1}, Size{1, 1, 1}),
               "no pipeline");
  send<void>(encoder, "endEncoding");
}

TEST_F(Rules, CopiesMoveWholeWords) {
  void* encoder = send<void*>(commands, "blitCommandEncoder");
  EXPECT_DEATH(send<void>(encoder, "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", buffer, uint64_t{0},
                          buffer, uint64_t{32}, uint64_t{3}),
               "multiples of 4");
  EXPECT_DEATH(send<void>(encoder, "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", buffer, uint64_t{0},
                          buffer, uint64_t{32}, uint64_t{64}),
               "64 bytes from offset 0 of 64 to offset 32 of 64");
  send<void>(encoder, "endEncoding");
}

TEST_F(Rules, AnAutoreleasedObjectNeedsAPool) {
  send<void>(pool, "release");
  EXPECT_DEATH(send<void*>(device, "name"), "on a thread without a pool");
  pool = nullptr;
  commands = nullptr;
}

}  // namespace
