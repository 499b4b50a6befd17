// tern_array in device memory.
#include <tern/error.h>

#include <algorithm>
#include <cstddef>

#include "runtime/c_api/arrays.h"
#include "runtime/c_api/errors.h"
#include "runtime/device_tensor.h"
#include "runtime/devices/device.h"

using namespace tern;         // NOLINT: the functions below are C's
using namespace tern::c_api;  // NOLINT

extern "C" {

tern_status tern_array_allocate(const char* device, std::int32_t dtype, std::int32_t rank, const std::int64_t* sizes,
                                tern_array* array) {
  return guarded([&] {
    require_pointer(array, "`array`");
    if (rank != 0) require_pointer(sizes, "`sizes`");
    check_kind(dtype, rank);
    const Tensor shape = Tensor::borrow(static_cast<void*>(nullptr), static_cast<DType>(dtype), {sizes, sizes + rank});
    Device& place = Device::open(device == nullptr ? "cpu" : device);
    std::byte* const data = place.allocate(std::max<std::size_t>(shape.byte_size(), 1));
    describe(TensorMemory::assign_device(Tensor::borrow(data, shape.dtype(), shape.sizes()), place), array);
  });
}

void tern_array_free(tern_array* array) {
  if (array == nullptr || array->data == nullptr) return;
  guarded([&] {
    Device::open(array->device == nullptr ? "cpu" : array->device).free(static_cast<std::byte*>(array->data));
  });
  array->data = nullptr;
}

tern_status tern_array_copy(const tern_array* from, const tern_array* to) {
  return guarded([&] {
    require_pointer(from, "`from`");
    require_pointer(to, "`to`");
    tensor_of(*to).copy_from(tensor_of(*from));
  });
}

}  // extern "C"
