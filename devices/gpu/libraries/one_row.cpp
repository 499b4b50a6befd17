#include "devices/gpu/libraries/one_row.h"

#include <string_view>

#include "devices/gpu/libraries/dtype_numbers.h"
#include "devices/gpu/libraries/shared_library.h"
#include "lt_names.h"
#include "platform/environment.h"

namespace tern::gpu {
namespace {

bool own_is_wanted() {
  const auto rows = platform::trusted_variable(plugin_variable("_ROWS").c_str());
  return rows ? *rows == "own" : names::kOwnRows;
}

}  // namespace

bool is_own_row(const tern_device_op& op) {
  const tern_device_tensor &a = op.inputs[0], &b = op.inputs[1], &out = op.outputs[0];
  if (a.dtype != b.dtype || a.dtype != out.dtype || a.dtype < kF16 || a.dtype > kF32 || a.rank < 2 || b.rank < 2)
    return false;
  for (int axis = 0; axis + 1 < out.rank; ++axis)
    if (out.sizes[axis] != 1) return false;
  for (int axis = 0; axis + 2 < b.rank; ++axis)
    if (b.sizes[axis] != 1) return false;
  const bool has_near_rows = b.sizes[b.rank - 2] == 1 || b.strides[b.rank - 2] == 1;
  const bool reads_near = a.sizes[a.rank - 1] == 1 || a.strides[a.rank - 1] == 1;
  return has_near_rows && reads_near && own_is_wanted();
}

}  // namespace tern::gpu
