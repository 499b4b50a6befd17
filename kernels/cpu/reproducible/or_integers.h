// Products of 8-bit integers are exact in any order of summation: reproducible kernels delegate them to the fastest
// kernels.
#pragma once

#include "kernels/cpu/products/int8/exact.h"
#include "kernels/kernel.h"

namespace tern::reproducible {

/// Selects `Fastest` for 8-bit integer products, else `InOrder`.
template <Kernel (*InOrder)(), Kernel (*Fastest)()>
struct OrIntegers {
  static bool is_integer(const KernelCall& c) {
    return is_byte_integer(c.in[0].dtype) && is_byte_integer(c.in[1].dtype);
  }
  static const Kernel& kernel_of(const KernelCall& c) {
    static const Kernel is_ordered = InOrder(), fastest = Fastest();
    return is_integer(c) ? fastest : is_ordered;
  }
  static void run(KernelCall& c) { kernel_of(c).run(c); }
  static std::size_t scratch(const KernelCall& c) { return kernel_of(c).scratch(c); }
  static std::unique_ptr<KernelState> prepare(const KernelCall& c) {
    return kernel_of(c).prepare != nullptr ? kernel_of(c).prepare(c) : nullptr;
  }
  static bool channels_last(const KernelCall& c) {
    return kernel_of(c).channels_last != nullptr && kernel_of(c).channels_last(c);
  }

  static Kernel kernel() {
    return {.run = run,
            .scratch = scratch,
            .prepare = prepare,
            .strided = InOrder().strided & Fastest().strided,
            .channels_last = Fastest().channels_last != nullptr ? channels_last : nullptr};
  }
};

}  // namespace tern::reproducible
