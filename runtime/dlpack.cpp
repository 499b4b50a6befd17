#include <fmt/format.h>
#include <tern/dlpack.h>
#include <tern/error.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/device_tensor.h"
#include "runtime/devices/device.h"
#include "runtime/dlpack_abi.h"
#include "runtime/tensor_view.h"
#include "schema/program.h"

namespace tern {
namespace {

struct DlpackTypeCode {
  DType dtype;
  std::uint8_t code, bits;
};

/// Element types with their DLDataTypeCode of DLPack 1.1 and bits; booleans are 8-bit kDLBool (6).
constexpr DlpackTypeCode kDlpackTypeCodes[] = {
    {DType::boolean, 6, 8},    {DType::u8, 1, 8},           {DType::i8, 0, 8},       {DType::i16, 0, 16},
    {DType::i32, 0, 32},       {DType::i64, 0, 64},         {DType::u16, 1, 16},     {DType::u32, 1, 32},
    {DType::u64, 1, 64},       {DType::f16, 2, 16},         {DType::bf16, 4, 16},    {DType::f32, 2, 32},
    {DType::f64, 2, 64},       {DType::c32, 5, 32},         {DType::c64, 5, 64},     {DType::c128, 5, 128},
    {DType::f8_e4m3fn, 10, 8}, {DType::f8_e4m3fnuz, 11, 8}, {DType::f8_e5m2, 12, 8}, {DType::f8_e5m2fnuz, 13, 8},
    {DType::f8_e8m0, 14, 8},
};

/// DLDeviceType of devices with pointers as addresses. Addresses of Metal and OpenCL are no pointers.
struct DlpackPlace {
  std::int32_t type;
  std::string_view kind;
};
constexpr DlpackPlace kDlpackDevices[] = {{dlpack::kCpu, "cpu"}, {2, "cuda"}, {10, "rocm"}};

/// Formats {2, 1} as "cuda:1".
std::string device_name(const dlpack::DeviceId& d) {
  for (const DlpackPlace& known : kDlpackDevices) {
    if (known.type == d.type) return known.type == dlpack::kCpu ? "cpu" : fmt::format("{}:{}", known.kind, d.id);
  }
  fail(ErrorCode::unsupported,
       fmt::format("DLPack tensor: its memory is on device type {}, but must be on the CPU (1), CUDA (2) or ROCm (10)",
                   d.type));
}

}  // namespace

dlpack::DeviceId dlpack_device(const Tensor& tensor) {
  const std::string& device = tensor.device();
  const std::string_view kind = std::string_view(device).substr(0, device.find(':'));
  for (const DlpackPlace& device_type : kDlpackDevices) {
    if (device_type.kind == kind)
      return {device_type.type, device_type.type == dlpack::kCpu ? 0 : std::stoi(device.substr(kind.size() + 1))};
  }
  fail(
      ErrorCode::unsupported,
      fmt::format("a tensor on {} has no DLPack form: other libraries cannot use its address; copy it with to(\"cpu\")",
                  device));
}

namespace {

Tensor wrap(const dlpack::Array& array, bool read_only, std::shared_ptr<void> owner) {
  const std::string device = device_name(array.device);
  DType dtype = DType::invalid;
  for (const DlpackTypeCode& known : kDlpackTypeCodes) {
    if (known.code == array.dtype.code && known.bits == array.dtype.bits && array.dtype.lanes == 1) dtype = known.dtype;
  }
  if (dtype == DType::invalid)
    fail(ErrorCode::unsupported, fmt::format("DLPack tensor: elements of code {} with {} bits and {} lanes are not "
                                             "supported; convert the tensor to another type",
                                             array.dtype.code, array.dtype.bits, array.dtype.lanes));
  if (array.ndim < 0 || array.ndim > kMaxRank)
    fail(ErrorCode::unsupported,
         fmt::format("DLPack tensor: it has {} dimensions, but must have 0 to {}; reshape it", array.ndim, kMaxRank));
  if (array.ndim > 0 && array.shape == nullptr)
    fail(ErrorCode::invalid_argument,
         fmt::format("DLPack tensor: it has {} dimensions, but no sizes (shape is null)", array.ndim));
  std::vector<std::int64_t> sizes(array.shape, array.shape + array.ndim), strides;
  if (array.strides != nullptr) strides.assign(array.strides, array.strides + array.ndim);
  if (array.data == nullptr && std::ranges::find(sizes, 0) == sizes.end())
    fail(ErrorCode::invalid_argument,
         "DLPack tensor: it has elements, but no memory (a fake tensor, or a subclass that wraps others)");
  // Empty tensors may have no address, and any offset.
  void* const data = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(array.data) + array.byte_offset);
  Tensor result = read_only ? Tensor::borrow(static_cast<const void*>(data), dtype, sizes, strides, std::move(owner))
                            : Tensor::borrow(data, dtype, sizes, strides, std::move(owner));
  return device == "cpu" ? result : TensorMemory::assign_device(std::move(result), Device::open(device));
}

template <class M>
Tensor take_ownership(M* managed, bool read_only) {
  if (managed == nullptr) fail(ErrorCode::invalid_argument, "DLPack tensor: a null pointer");
  wrap(managed->array, read_only, {});  // checks first: refused tensors remain the caller's
  return wrap(managed->array, read_only, std::shared_ptr<void>(managed, [](void* pointer) {
                M* const owned = static_cast<M*>(pointer);
                if (owned->deleter != nullptr) owned->deleter(owned);
              }));
}

}  // namespace

Tensor view_of_dlpack(const DLManagedTensor* tensor) {
  if (tensor == nullptr) fail(ErrorCode::invalid_argument, "DLPack tensor: a null pointer");
  return wrap(reinterpret_cast<const dlpack::Managed*>(tensor)->array, false, {});
}

namespace {

/// A DLPack tensor together with its shape and strides.
template <class M>
struct DlpackTensor {
  M managed{};
  Tensor tensor;
  std::vector<std::int64_t> sizes, strides;
};

template <class M>
M* make_managed(const Tensor& tensor) {
  auto result = std::make_unique<DlpackTensor<M>>();
  result->tensor = tensor;
  result->sizes = tensor.sizes();
  result->strides = tensor.strides();
  dlpack::Array& a = result->managed.array;
  for (const DlpackTypeCode& name : kDlpackTypeCodes) {
    if (name.dtype == tensor.dtype()) a.dtype = {name.code, name.bits, 1};
  }
  if (a.dtype.lanes == 0)
    fail(ErrorCode::unsupported, "DLPack has no element type for " + std::string(name_of(tensor.dtype())));
  a.data = result->tensor.data();
  a.device = dlpack_device(tensor);
  a.ndim = static_cast<std::int32_t>(result->sizes.size());
  a.shape = result->sizes.data();
  a.strides = result->strides.data();
  result->managed.context = result.get();
  result->managed.deleter = [](M* managed) { delete static_cast<DlpackTensor<M>*>(managed->context); };
  return &result.release()->managed;
}

}  // namespace

Tensor from_dlpack(DLManagedTensor* tensor) {
  return take_ownership(reinterpret_cast<dlpack::Managed*>(tensor), false);
}

Tensor from_dlpack(DLManagedTensorVersioned* tensor) {
  auto* const versioned = reinterpret_cast<dlpack::Versioned*>(tensor);
  if (versioned != nullptr && versioned->major != dlpack::kMajor)
    fail(ErrorCode::unsupported,
         "DLPack tensor: major version " + std::to_string(versioned->major) + " is not supported");
  return take_ownership(versioned, versioned != nullptr && (versioned->flags & dlpack::kReadOnly) != 0);
}

DLManagedTensor* to_dlpack(const Tensor& tensor) {
  if (tensor.read_only())
    fail(ErrorCode::invalid_argument, "DLPack 0.x cannot say that a tensor is read-only: use to_dlpack_versioned()");
  return reinterpret_cast<DLManagedTensor*>(make_managed<dlpack::Managed>(tensor));
}

DLManagedTensorVersioned* to_dlpack_versioned(const Tensor& tensor) {
  auto* const versioned = make_managed<dlpack::Versioned>(tensor);
  versioned->major = dlpack::kMajor;
  versioned->minor = dlpack::kMinor;
  versioned->flags = tensor.read_only() ? dlpack::kReadOnly : 0;
  return reinterpret_cast<DLManagedTensorVersioned*>(versioned);
}

}  // namespace tern
