// Copies of operands that lie at addresses which the library does not take, as for products of float8: parts of other
// tensors. Tern's own memory needs none.
#pragma once

#include "devices/gpu/api.h"
#include "devices/gpu/libraries/lt_types.h"
#include "devices/gpu/libraries/product.h"
#include "devices/gpu/status.h"

namespace tern::gpu {

/// Of the matrices of Product; c is that of the addend, vector or matrix, and d where there is none.
struct ProductAddresses {
  Address a = 0, b = 0, c = 0, d = 0;
  Address residual = 0;              ///< lies as d does; 0: none
  Address scale_a = 0, scale_b = 0;  ///< 0: none
};

inline Address aligned(Address address, std::uint64_t alignment) {
  return (address + alignment - 1) / alignment * alignment;
}

class Staging {
 public:
  /// Of a product with one call.
  Staging(const Product& product, const LtTypes& types);

  /// Room for all operands.
  [[nodiscard]] std::uint64_t bytes() const;
  /// Copies misaligned operands to `room` and changes their addresses; a misaligned result gets a place there.
  tern_device_status copy_in(Stream stream, Address room, ProductAddresses* at) const;
  /// Copies the result from where it was made to where it was asked for.
  tern_device_status copy_out(Stream stream, const ProductAddresses& made, const ProductAddresses& asked) const;

 private:
  std::uint64_t a_, b_, c_, d_;  ///< bytes; 0 for c: there is no addend
};

}  // namespace tern::gpu
