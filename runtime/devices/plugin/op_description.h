// Nodes and tensors in the plugins' format (tern_device_op).
#pragma once

#include <tern/device.h>

#include <list>
#include <span>
#include <vector>

#include "kernels/kernel.h"

namespace tern {

/// Absent for a view without a dtype.
tern_device_tensor tensor_of(const TensorView& v, bool with_address);

class OpDescription {
 public:
  /// Describes the node without addresses. The node's attributes are constants; the node must outlive the description.
  OpDescription(const Node& node, std::span<const TensorView> in, std::span<const TensorView> out);
  OpDescription(const OpDescription&) = delete;
  OpDescription& operator=(const OpDescription&) = delete;

  const tern_device_op& op() const { return op_; }
  void set_precision(Precision precision) { op_.precision = static_cast<std::int32_t>(precision); }
  void fill(std::span<const TensorView> in, std::span<const TensorView> out, bool with_addresses);

 private:
  void add(const Attr& a);

  tern_device_op op_{};
  std::vector<tern_device_tensor> tensors_;
  std::vector<tern_device_attribute> attributes_;
  std::vector<tern_device_instruction> instructions_;
  std::list<std::vector<std::int64_t>> integers_;
};

}  // namespace tern
