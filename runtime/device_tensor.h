// Where a tensor's memory is.
#pragma once

#include <tern/tensor.h>

namespace tern {

class Device;

struct TensorMemory {
  static bool on_host(const Tensor& t) { return t.device_ == 0; }
  static Device& device(const Tensor& t);
  /// What borrow() gave, said to be of this device.
  static Tensor place(Tensor t, Device& device);
};

}  // namespace tern
