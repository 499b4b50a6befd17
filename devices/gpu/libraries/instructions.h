// Access to the instructions of a "pointwise" node.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <cstring>

#include "devices/gpu/libraries/dtype_numbers.h"

namespace tern::gpu {

inline bool is_named(const tern_device_instruction& i, const char* name) {
  return std::strcmp(i.name, name) == 0;
}

/// Operand loaded by a step, unchanged or converted to float32; -1 for other steps.
inline std::int32_t loaded(const tern_device_op& op, std::int32_t at) {
  const tern_device_instruction* i = &op.instructions[at];
  if (is_named(*i, "convert") && i->dtype == kF32) i = &op.instructions[i->operands[0]];
  return is_named(*i, "load") ? static_cast<std::int32_t>(i->integer) : -1;
}

}  // namespace tern::gpu
