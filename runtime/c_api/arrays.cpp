#include "runtime/c_api/arrays.h"

#include <tern/error.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "runtime/c_api/errors.h"
#include "runtime/device_tensor.h"
#include "runtime/devices/device.h"
#include "schema/program.h"

static_assert(TERN_MAX_RANK == tern::kMaxRank);

namespace tern::c_api {

void check_kind(std::int32_t dtype, std::int32_t rank) {
  if (rank < 0 || rank > TERN_MAX_RANK || dtype < 0 || dtype >= kTensorDTypeCount)
    fail(ErrorCode::invalid_argument,
         "tern_array: rank " + std::to_string(rank) + " or dtype " + std::to_string(dtype) + " does not exist");
}

Tensor tensor_of(const tern_array& a) {
  if (a.dtype == TERN_DTYPE_INVALID) return {};
  check_kind(a.dtype, a.rank);
  std::vector<std::int64_t> sizes(a.sizes, a.sizes + a.rank), strides;
  if (a.has_strides != 0) strides.assign(a.strides, a.strides + a.rank);
  const auto dtype = static_cast<DType>(a.dtype);
  Tensor t = Tensor::borrow(a.data, dtype, sizes, strides);
  if (a.read_only != 0)
    t = Tensor::borrow(static_cast<const void*>(a.data), dtype, std::move(sizes), std::move(strides));
  if (a.data == nullptr && t.byte_size() != 0) fail(ErrorCode::invalid_argument, "tern_array: `data` is NULL");
  return a.device == nullptr ? t : TensorMemory::assign_device(std::move(t), Device::open(a.device));
}

std::vector<Tensor> tensors_of(const tern_array* arrays, std::size_t count) {
  if (count != 0) require_pointer(arrays, "the array of tensors");
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < count; ++i) tensors.push_back(tensor_of(arrays[i]));
  return tensors;
}

void describe(const Tensor& t, tern_array* array) {
  require_pointer(array, "`array`");
  if (t.sizes().size() > TERN_MAX_RANK) fail(ErrorCode::unsupported, "a tensor of more than 16 dimensions");
  *array = {};
  array->data = const_cast<void*>(t.data());
  array->dtype = static_cast<std::int32_t>(t.dtype());
  array->rank = static_cast<std::int32_t>(t.sizes().size());
  std::ranges::copy(t.sizes(), array->sizes);
  std::ranges::copy(t.strides(), array->strides);
  array->has_strides = t.is_contiguous() ? 0 : 1;
  array->read_only = t.read_only() ? 1 : 0;
  array->device = TensorMemory::is_on_host(t) ? nullptr : t.device().c_str();
}

}  // namespace tern::c_api
