// What a product of cuBLASLt or hipBLASLt must keep, and which ones the stand-ins run.
#pragma once

#include <optional>

#include "tests/gpu/libraries/lt_objects.h"
#include "tests/gpu/libraries/product_call.h"

namespace tern::stand_in {

struct Problem {
  const Description& product;
  const Layout &a, &b, &c, &d;
};

/// The product without addresses. Ends the process where the descriptors break a rule; nothing where the library has
/// no such product (..._STATUS_NOT_SUPPORTED).
std::optional<ProductCall> read(const Problem& problem);

/// The bytes that each address of the product is a multiple of, for its types to be supported at all: 1, 4 or 16.
std::uint32_t needed_alignment(const ProductCall& call);

}  // namespace tern::stand_in
