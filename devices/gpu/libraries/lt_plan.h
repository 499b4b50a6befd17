// The library's descriptors of one product, and the algorithms that it chose for them.
#pragma once

#include <memory>
#include <optional>

#include "devices/gpu/libraries/activation.h"
#include "devices/gpu/libraries/lt.h"
#include "devices/gpu/libraries/lt_types.h"
#include "devices/gpu/libraries/product.h"
#include "devices/gpu/libraries/scaling.h"

namespace tern::gpu {

/// The alignment that every algorithm is content with; Tern's own memory has it, parts of tensors may lack it.
constexpr std::uint32_t kLtAlignment = 16;

struct LtPlan {
  LtObject product, a, b, c, d;
  std::optional<LtChoice> aligned;  ///< for addresses that are multiples of kLtAlignment
  std::optional<LtChoice> any;      ///< for all addresses of elements
};

/// Null where the library has no algorithm for aligned addresses.
std::unique_ptr<LtPlan> lt_plan(Lt& lt, const Product& product, const LtTypes& types, Activation activation,
                                Scales scales);

}  // namespace tern::gpu
