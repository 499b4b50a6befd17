// Access to nodes' attributes.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <cstring>

namespace tern::gpu {

/// Returns the attribute of that name and kind with at least one value; null if none exists.
inline const tern_device_attribute* attribute(const tern_device_op& op, const char* name,
                                              std::int32_t kind = TERN_ATTRIBUTE_INTEGERS) {
  for (std::int32_t i = 0; i < op.attribute_count; ++i) {
    const tern_device_attribute& a = op.attributes[i];
    if (std::strcmp(a.name, name) == 0 && a.kind == kind && a.count > 0) return &a;
  }
  return nullptr;
}
/// Returns the first integer of an attribute, or `otherwise`.
inline std::int64_t integer_of(const tern_device_op& op, const char* name, std::int64_t otherwise) {
  const tern_device_attribute* a = attribute(op, name);
  return a == nullptr ? otherwise : a->integers[0];
}

}  // namespace tern::gpu
