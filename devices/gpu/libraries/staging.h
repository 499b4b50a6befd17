// Copies of operands at addresses not accepted by the library, as for float8 products of parts of tensors. Tern's own
// memory needs no copies.
#pragma once

#include "devices/gpu/api.h"
#include "devices/gpu/libraries/lt_types.h"
#include "devices/gpu/libraries/product.h"
#include "devices/gpu/status.h"

namespace tern::gpu {

/// Addresses of Product's matrices; c is the addend (vector or matrix), or d without an addend.
struct ProductAddresses {
  Address a = 0, b = 0, c = 0, d = 0;
  Address residual = 0;              ///< laid out like d; 0: none
  Address scale_a = 0, scale_b = 0;  ///< 0: none
};

inline Address aligned(Address address, std::uint64_t alignment) {
  return (address + alignment - 1) / alignment * alignment;
}

class Staging {
 public:
  /// Requires a product with one call.
  Staging(const Product& product, const LtTypes& types);

  /// Bytes for copies of all operands.
  [[nodiscard]] std::uint64_t bytes() const;
  /// Copies misaligned operands to `room` and changes their addresses; a misaligned result is redirected there.
  tern_device_status copy_in(Stream stream, Address room, ProductAddresses* at) const;
  /// Copies the result to its requested address.
  tern_device_status copy_out(Stream stream, const ProductAddresses& made, const ProductAddresses& asked) const;

 private:
  std::uint64_t a_, b_, c_, d_;  ///< bytes; 0 for c without an addend
};

}  // namespace tern::gpu
