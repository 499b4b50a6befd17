// Device of a tensor's memory.
#pragma once

#include <tern/tensor.h>

namespace tern {

class Device;

struct TensorMemory {
  static bool on_host(const Tensor& t) { return t.device_ == 0; }
  static Device& device(const Tensor& t);
  /// Marks a tensor from borrow() as memory of this device.
  static Tensor place(Tensor t, Device& device);
};

}  // namespace tern
