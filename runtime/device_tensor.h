// Device of a tensor's memory.
#pragma once

#include <tern/tensor.h>

namespace tern {

class Device;

struct TensorMemory {
  static bool is_on_host(const Tensor& t) { return t.device_ == 0; }
  static Device& device(const Tensor& t);
  /// Marks a tensor from borrow() as memory of this device.
  static Tensor assign_device(Tensor t, Device& device);
};

}  // namespace tern
