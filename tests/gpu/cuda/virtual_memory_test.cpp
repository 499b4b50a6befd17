#include "tests/gpu/cuda/support.h"

namespace {

class VirtualMemory : public Emulated {
 protected:
  void SetUp() override {
    Emulated::SetUp();
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    SUCCEEDS(cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    SUCCEEDS(cuMemAddressReserve(&range, 4 * unit, 0, 0, 0));
    SUCCEEDS(cuMemCreate(&physical, unit, &properties, 0));
  }

  void TearDown() override {
    cuMemUnmap(range, unit);
    cuMemUnmap(range + unit, unit);
    if (live) cuMemRelease(physical);
    EXPECT_EQ(cuMemAddressFree(range, 4 * unit), CUDA_SUCCESS);
    EXPECT_EQ(figures().mappings, 0u);
    EXPECT_EQ(figures().memory_objects, 0u);
    EXPECT_EQ(figures().reservations, 0u);
    Emulated::TearDown();
  }

  CUmemAllocationProp properties = {};
  CUmemAccessDesc access = {};
  size_t unit = 0;
  CUdeviceptr range = 0;
  CUmemGenericAllocationHandle physical = 0;
  bool live = true;
};

TEST_F(VirtualMemory, IsUsableWithAccessOnly) {
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8Async(range, 0, 4, stream));
  SUCCEEDS(cuMemMap(range, unit, 0, physical, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8Async(range, 0, 4, stream));
  SUCCEEDS(cuMemSetAccess(range, unit, &access, 1));
  EXPECT_EQ(read(stream, range), -1);
}

TEST_F(VirtualMemory, KernelsFaultWithoutAccess) {
  SUCCEEDS(cuMemMap(range, unit, 0, physical, 0));
  SUCCEEDS(launch(add, range, 1, stream));
  EXPECT_DEATH(cuStreamSynchronize(stream), "kernel add touches 0x.*mapped by cuMemMap, access never granted");
}

TEST_F(VirtualMemory, KernelsFaultAfterUnmapping) {
  SUCCEEDS(cuMemMap(range, unit, 0, physical, 0));
  SUCCEEDS(cuMemSetAccess(range, unit, &access, 1));
  SUCCEEDS(launch(add, range, 1, stream));
  SUCCEEDS(cuMemUnmap(range, unit));
  EXPECT_DEATH(cuStreamSynchronize(stream), "kernel add touches 0x.*unmapped by cuMemUnmap");
}

TEST_F(VirtualMemory, ContentsStayWithTheObject) {
  SUCCEEDS(cuMemMap(range, unit, 0, physical, 0));
  SUCCEEDS(cuMemSetAccess(range, unit, &access, 1));
  SUCCEEDS(cuMemsetD32Async(range, 42, 1, stream));
  SUCCEEDS(cuStreamSynchronize(stream));
  SUCCEEDS(cuMemUnmap(range, unit));
  SUCCEEDS(cuMemMap(range + unit, unit, 0, physical, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoDAsync(memory, range + unit, 4, stream));  // access starts anew
  SUCCEEDS(cuMemSetAccess(range + unit, unit, &access, 1));
  EXPECT_EQ(read(stream, range + unit), 42);
}

TEST_F(VirtualMemory, WorkCrossesFromOneMappingIntoTheNext) {
  CUmemGenericAllocationHandle second = 0;
  SUCCEEDS(cuMemCreate(&second, unit, &properties, 0));
  SUCCEEDS(cuMemMap(range, unit, 0, physical, 0));
  SUCCEEDS(cuMemMap(range + unit, unit, 0, second, 0));
  SUCCEEDS(cuMemSetAccess(range, 2 * unit, &access, 1));
  SUCCEEDS(cuMemsetD8Async(range, 3, 2 * unit, stream));
  EXPECT_EQ(read(stream, range + unit), 0x03030303);
  // Unmapping a part of a mapping fails; unmapping two whole mappings succeeds.
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(range, unit / 2));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(range, 3 * unit));
  SUCCEEDS(cuMemUnmap(range, 2 * unit));
  SUCCEEDS(cuMemRelease(second));
}

TEST_F(VirtualMemory, MappingsKeepAReleasedObject) {
  size_t before = 0, after = 0, total = 0;
  SUCCEEDS(cuMemMap(range, unit, 0, physical, 0));
  SUCCEEDS(cuMemGetInfo(&before, &total));
  SUCCEEDS(cuMemRelease(physical));
  live = false;
  SUCCEEDS(cuMemGetInfo(&after, &total));
  EXPECT_EQ(before, after);
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuMemRelease(physical));
  SUCCEEDS(cuMemUnmap(range, unit));
  SUCCEEDS(cuMemGetInfo(&after, &total));
  EXPECT_EQ(after - before, unit);
}

TEST_F(VirtualMemory, MappingsAreCheckedAgainstReservations) {
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemMap(range + 4 * unit, unit, 0, physical, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemMap(range, unit / 2, 0, physical, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemMap(range, unit, unit, physical, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemMap(range, 2 * unit, 0, physical, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(range, unit, &access, 1));
  SUCCEEDS(cuMemMap(range, unit, 0, physical, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemMap(range, unit, 0, physical, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(range, 4 * unit));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(range, 2 * unit));
}

TEST_F(VirtualMemory, SizesAreMultiplesOfTheGranularity) {
  CUmemGenericAllocationHandle none = 0;
  CUdeviceptr address = 0;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&none, unit / 2, &properties, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&address, unit / 2, 0, 0, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&address, unit, 3, 0, 0));
  FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&none, size_t{1} << 40, &properties, 0));
}

}  // namespace
