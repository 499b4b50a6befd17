#include <cstring>

#include "tests/gpu/cuda/support.h"
#include "tests/gpu/machine/pointer.h"

namespace {

using Memory = Emulated;

TEST_F(Memory, FreshMemoryIsPoisoned) {
  EXPECT_EQ(read(stream), -1);
}

TEST_F(Memory, AddressesAreAlignedAndNeverUsedTwice) {
  CUdeviceptr first = 0, second = 0;
  SUCCEEDS(cuMemAlloc(&first, 1000));
  SUCCEEDS(cuMemFree(first));
  SUCCEEDS(cuMemAlloc(&second, 1000));
  EXPECT_NE(first, second);
  EXPECT_EQ(first % 256, 0u);
  SUCCEEDS(cuMemFree(second));
}

TEST_F(Memory, AllocationsOfNoBytesAreRefused) {
  CUdeviceptr address = 0;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&address, 0));
}

TEST_F(Memory, ItIsOut) {
  CUdeviceptr address = 0;
  FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&address, size_t{1} << 40));
}

TEST_F(Memory, FreeBytesAreCounted) {
  size_t before = 0, after = 0, total = 0;
  CUdeviceptr address = 0;
  SUCCEEDS(cuMemGetInfo(&before, &total));
  SUCCEEDS(cuMemAlloc(&address, 1 << 20));
  SUCCEEDS(cuMemGetInfo(&after, &total));
  EXPECT_EQ(before - after, size_t{1} << 20);
  EXPECT_EQ(total, size_t{80} << 30);
  SUCCEEDS(cuMemFree(address));
  SUCCEEDS(cuMemGetInfo(&after, &total));
  EXPECT_EQ(before, after);
}

TEST_F(Memory, FreeingTwiceOrInsideIsRefused) {
  CUdeviceptr address = 0;
  SUCCEEDS(cuMemAlloc(&address, 512));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree(address + 256));
  SUCCEEDS(cuMemFree(address));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree(address));
  SUCCEEDS(cuMemFree(0));
}

TEST_F(Memory, CopiesStayInside) {
  char host[512] = {};
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoDAsync(memory, host, bytes + 1, stream));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoHAsync(host, memory + 4, bytes, stream));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoDAsync(memory, memory - 4, 4, stream));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8Async(memory, 0, bytes + 1, stream));
  SUCCEEDS(cuMemcpyHtoDAsync(memory, host, bytes, stream));
}

TEST_F(Memory, TheHostsSideOfACopyIsNotOnTheDevice) {
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoDAsync(memory, tern::emulator::pointer<void>(memory), 4, stream));
}

TEST_F(Memory, PageableSourcesAreReadAtTheCall) {
  int value = 7;
  SUCCEEDS(cuMemcpyHtoDAsync(memory, &value, sizeof(value), stream));
  value = 8;
  EXPECT_EQ(read(stream), 7);
}

TEST_F(Memory, PinnedSourcesAreReadLate) {
  *pinned = 7;
  SUCCEEDS(cuMemcpyHtoDAsync(memory, pinned, sizeof(int), stream));
  *pinned = 8;
  EXPECT_EQ(read(stream), 8);
}

TEST_F(Memory, PinnedDestinationsAreWrittenLate) {
  *pinned = 7;
  zero(stream);
  SUCCEEDS(cuMemcpyDtoHAsync(pinned, memory, sizeof(int), stream));
  EXPECT_EQ(*pinned, 7);
  SUCCEEDS(cuStreamSynchronize(stream));
  EXPECT_EQ(*pinned, 0);
}

TEST_F(Memory, PinnedMemoryOutlivesItsCopies) {
  SUCCEEDS(cuMemcpyHtoDAsync(memory, pinned, sizeof(int), stream));
  SUCCEEDS(cuMemFreeHost(pinned));
  EXPECT_DEATH(cuStreamSynchronize(stream), "source was given up.*freed by cuMemFreeHost");
}

TEST_F(Memory, DeviceMemoryOutlivesItsWork) {
  SUCCEEDS(launch(add, memory, 1, stream));
  SUCCEEDS(cuMemFree(memory));
  EXPECT_DEATH(cuStreamSynchronize(stream), "kernel add touches 0x.*freed by cuMemFree_v2");
}

TEST_F(Memory, KernelsFaultBehindAnAllocation) {
  SUCCEEDS(launch(add, memory, 1, stream, 65));
  EXPECT_DEATH(cuStreamSynchronize(stream), "kernel add touches 0x.* behind the end of 256 bytes");
}

TEST_F(Memory, PinnedMemoryIsFreedOnce) {
  SUCCEEDS(cuMemFreeHost(pinned));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(pinned));
  int pageable = 0;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(&pageable));
}

TEST_F(Memory, FillsHaveWholeElements) {
  SUCCEEDS(cuMemsetD32Async(memory, 0x01020304, 2, stream));
  EXPECT_EQ(read(stream, memory + 4), 0x01020304);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32Async(memory + 2, 0, 1, stream));
}

}  // namespace
