// Launches including products by the device's own kernels (a vendor's library), with operands prepared by earlier
// launches.
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

  /// Adds the product after the launches so far; returns false without adding anything if the device has no such
  /// kernel. Parameters as in add_product. The call's precision limits the rounding of float32.
  bool add_own_product(const KernelCall& c, const ProductOperand& a, const ProductOperand& b,
                       const ResultColumns& part);
  /// Call this after all additions.
  void complete();

  void run(KernelCall& call) const;

 private:
  /// An operand or the result: its view; each run sets the address.
  struct OperandSource {
    TensorView view;
    std::size_t index;                     ///< number among the node's inputs
    std::optional<std::uint64_t> scratch;  ///< offset in the node's scratch, for operands there
    std::int64_t offset = 0;               ///< bytes from the begin of the input or output
  };
  struct NativeLaunch {
    std::size_t launch_index;  ///< number of preceding launches
    std::unique_ptr<const OwnKernel> kernel;
    std::array<OperandSource, 3> in;  ///< a, b, bias
    std::size_t operands;
    OperandSource out;
  };
  struct Operands;

  std::vector<NativeLaunch> native_launches_;
  std::uint64_t workspace_ = 0;  ///< offset in the node's scratch
};

}  // namespace tern::portable
