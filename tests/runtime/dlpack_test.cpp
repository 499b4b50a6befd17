// Tensors to and from DLPack, with structs laid out like DLPack's own header.
#include <gtest/gtest.h>
#include <tern/dlpack.h>

#include <cstddef>

#include "runtime/dlpack_abi.h"
#include "tests/runtime/support.h"

#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
static_assert(sizeof(DLManagedTensor) == sizeof(tern::dlpack::Managed));
static_assert(offsetof(DLManagedTensor, deleter) == offsetof(tern::dlpack::Managed, deleter));
static_assert(offsetof(DLTensor, dtype) == offsetof(tern::dlpack::Array, dtype));
static_assert(offsetof(DLTensor, shape) == offsetof(tern::dlpack::Array, shape));
static_assert(offsetof(DLTensor, strides) == offsetof(tern::dlpack::Array, strides));
static_assert(offsetof(DLTensor, byte_offset) == offsetof(tern::dlpack::Array, byte_offset));
static_assert(kDLCPU == tern::dlpack::kCpu);
#endif

namespace tern {
namespace {

using testing::floats;
using testing::values_of;
using Floats = std::vector<float>;

TEST(Dlpack, SharesMemoryAndKeepsItAlive) {
  Tensor t = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const void* const data = t.data();
  DLManagedTensor* const lent = to_dlpack(t);
  t = Tensor();
  auto* const raw = reinterpret_cast<dlpack::Managed*>(lent);
  EXPECT_EQ(raw->array.data, data);
  EXPECT_EQ(raw->array.ndim, 2);
  EXPECT_EQ(raw->array.shape[1], 3);
  EXPECT_EQ(raw->array.strides[0], 3);
  EXPECT_EQ(raw->array.dtype.code, 2);
  EXPECT_EQ(raw->array.dtype.bits, 32);
  const Tensor back = from_dlpack(lent);
  EXPECT_EQ(back.data(), data);
  EXPECT_EQ(values_of(back), (Floats{1, 2, 3, 4, 5, 6}));
}

struct ManagedTensor {
  Floats memory = {0, 1, 2, 3, 4, 5, 6};
  std::int64_t shape[2] = {3, 2}, strides[2] = {1, 3};
  int deleted = 0;
  dlpack::Versioned tensor{1, 0, nullptr, nullptr, dlpack::kReadOnly, {}};
  ManagedTensor() {
    tensor.context = this;
    tensor.deleter = [](dlpack::Versioned* v) { ++static_cast<ManagedTensor*>(v->context)->deleted; };
    tensor.array = {memory.data(), {dlpack::kCpu, 0}, 2, {2, 32, 1}, shape, strides, sizeof(float)};
  }
  Tensor import_tensor() { return from_dlpack(reinterpret_cast<DLManagedTensorVersioned*>(&tensor)); }
};

TEST(Dlpack, TakesStridesOffsetsAndReadOnlyMemory) {
  ManagedTensor given;
  {
    const Tensor t = given.import_tensor();
    EXPECT_TRUE(t.read_only());
    EXPECT_EQ(values_of(t.contiguous()), (Floats{1, 4, 2, 5, 3, 6}));
    EXPECT_EQ(given.deleted, 0);
    EXPECT_THROW((void)to_dlpack(t), Error);
    auto* const again = reinterpret_cast<dlpack::Versioned*>(to_dlpack_versioned(t));
    EXPECT_EQ(again->flags, dlpack::kReadOnly);
    EXPECT_EQ(again->major, 1u);
    again->deleter(again);
  }
  EXPECT_EQ(given.deleted, 1);
}

TEST(Dlpack, LeavesWhatItRefuses) {
  ManagedTensor given;
  const auto refuse = [&](auto change) {
    given.tensor.array = {given.memory.data(), {dlpack::kCpu, 0}, 2, {2, 32, 1}, given.shape, given.strides, 0};
    given.tensor.major = 1;
    change();
    EXPECT_THROW((void)given.import_tensor(), Error);
    EXPECT_EQ(given.deleted, 0);
  };
  refuse([&] { given.tensor.array.device.type = 2; });
  refuse([&] { given.tensor.array.dtype.lanes = 2; });
  refuse([&] { given.tensor.array.dtype.bits = 31; });
  refuse([&] { given.tensor.array.ndim = 17; });
  refuse([&] { given.tensor.array.ndim = -1; });
  refuse([&] { given.tensor.array.shape = nullptr; });
  refuse([&] { given.shape[0] = -1; });
  given.shape[0] = 3;
  refuse([&] { given.tensor.major = 2; });
  EXPECT_THROW((void)from_dlpack(static_cast<DLManagedTensor*>(nullptr)), Error);
  EXPECT_THROW((void)to_dlpack(Tensor(DType::f4_e2m1, {2})), Error);
}

TEST(Dlpack, HasEveryTypeOfBytes) {
  for (int t = 1; t < kTensorDTypeCount; ++t) {
    const auto dtype = static_cast<DType>(t);
    if (dtype == DType::f4_e2m1 || dtype == DType::f6_e2m3 || dtype == DType::f6_e3m2) continue;
    EXPECT_EQ(from_dlpack(to_dlpack(Tensor(dtype, {2}))).dtype(), dtype) << name_of(dtype);
  }
}

}  // namespace
}  // namespace tern
