// Rules for products of cuBLASLt and hipBLASLt, and products supported by the stand-ins.
#pragma once

#include <optional>

#include "tests/gpu/libraries/lt_objects.h"
#include "tests/gpu/libraries/product_call.h"

namespace tern::stand_in {

struct Problem {
  const Description& product;
  const Layout &a, &b, &c, &d;
};

/// The product without addresses. Ends the process if the descriptors break a rule; nullopt if the library has no such
/// product (..._STATUS_NOT_SUPPORTED).
std::optional<ProductCall> read(const Problem& problem);

/// Required alignment in bytes of each address of the product for its types: 1, 4 or 16.
std::uint32_t needed_alignment(const ProductCall& call);

}  // namespace tern::stand_in
