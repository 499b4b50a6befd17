// Weights in the layout that a primitive wants, made once for a program and shared by its plans.
#pragma once

#include <memory>

#include "kernels/cpu/dnnl/engine.h"
#include "kernels/kernel.h"

namespace tern::dnnl_cpu {

/// A constant operand of a kernel that is being prepared.
struct ConstantWeight {
  TensorView view;
  WeightAccess* access = nullptr;  ///< where it may lie packed already; may be null
  std::size_t input = 0;           ///< its position among the kernel's operands
};

struct PackedWeight {
  dnnl::memory memory;
};

/// The constant tensor `w` in the layout `to`. `from` describes w's elements, in to's order of axes and to's type;
/// where w has another type it is converted first, and `from` must then describe it row-major. Equal requests of a
/// program share one copy; one packed at export is used where it lies.
std::shared_ptr<const PackedWeight> pack_weight(const ConstantWeight& w, const dnnl::memory::desc& from,
                                                const dnnl::memory::desc& to);

}  // namespace tern::dnnl_cpu
