// Weights in a primitive's layout, packed once per program and shared by its plans.
#pragma once

#include <memory>

#include "kernels/cpu/dnnl/engine.h"
#include "kernels/kernel.h"

namespace tern::dnnl_cpu {

/// A constant operand of a kernel under preparation.
struct ConstantWeight {
  TensorView view;
  WeightAccess* access = nullptr;  ///< source of a weight packed earlier; may be null
  std::size_t input = 0;           ///< index among the kernel's operands
};

struct PackedWeight {
  dnnl::memory memory;
};

/// Returns the constant tensor `w` in the layout `to`. `from` describes w's elements, in to's order of axes and to's
/// type; a w of another type is converted first, and `from` must then be row-major. Equal requests of a program share a
/// copy; a weight packed at export is used in place.
std::shared_ptr<const PackedWeight> pack_weight(const ConstantWeight& w, const dnnl::memory::desc& from,
                                                const dnnl::memory::desc& to);

}  // namespace tern::dnnl_cpu
