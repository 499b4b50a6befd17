// Launches among which are products by the device's own kernels: of a vendor's library, whose operands the launches
// before them have made.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/portable/products.h"

namespace tern::portable {

class LibraryLaunches : public Launches {
 public:
  using Launches::Launches;

  /// The product, after what is in the list so far; false, and nothing is added, where the device has none of its own.
  /// As add_product. The call's precision is what the product may round float32 to.
  bool add_own_product(const KernelCall& c, const ProductOperand& a, const ProductOperand& b,
                       const ResultColumns& part);
  /// Call this after all additions.
  void complete();

  void run(KernelCall& call) const;

 private:
  /// An operand or the result: its view, of which each run sets the address.
  struct Place {
    TensorView view;
    std::size_t index;                     ///< of the node's inputs
    std::optional<std::uint64_t> scratch;  ///< where it lies in the node's scratch instead
    std::int64_t offset = 0;               ///< bytes from the input's or output's first one
  };
  struct Own {
    std::size_t after;  ///< as many launches
    std::unique_ptr<const OwnKernel> kernel;
    std::array<Place, 3> in;  ///< a, b, bias
    std::size_t operands;
    Place out;
  };
  struct Operands;

  std::vector<Own> own_;
  std::uint64_t workspace_ = 0;  ///< of the node's scratch
};

}  // namespace tern::portable
