// The library's descriptors of one product, and its chosen algorithms.
#pragma once

#include <memory>
#include <optional>

#include "devices/gpu/libraries/activation.h"
#include "devices/gpu/libraries/lt.h"
#include "devices/gpu/libraries/lt_types.h"
#include "devices/gpu/libraries/product.h"
#include "devices/gpu/libraries/scaling.h"

namespace tern::gpu {

/// Alignment sufficient for every algorithm; guaranteed for Tern's own memory, but not for parts of tensors.
constexpr std::uint32_t kLtAlignment = 16;

struct LtPlan {
  LtObject product, a, b, c, d;
  std::optional<LtChoice> aligned;    ///< algorithm for addresses aligned to kLtAlignment
  std::optional<LtChoice> unaligned;  ///< algorithm for all element addresses
};

/// Returns null if the library has no algorithm for aligned addresses.
std::unique_ptr<LtPlan> lt_plan(Lt& lt, const Product& product, const LtTypes& types, Activation activation,
                                Scales scales);

}  // namespace tern::gpu
