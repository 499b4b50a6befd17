// Compiles several nodes of a function as one kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/portable/launcher.h"

namespace tern {

/// Nodes with constant attributes and values of known sizes, offered to a device.
struct PartRequest {
  std::span<const Node* const> nodes;
  std::span<const ValueId> inputs, outputs;
  std::function<Precision(const Node&)> precision;  ///< PrepareOptions::precision of the node; null: as exported
  std::function<TensorView(ValueId)> view;          ///< data is the address of a constant, else null
};

class PartCompiler {
 public:
  virtual ~PartCompiler() = default;
  /// True if the device accepts microscaled (MX) values: the operand of dequantize, the right operand of matmul.
  virtual bool takes_microscaled() const { return false; }
  /// Returns the group of each node; -1 for nodes the device does not accept.
  virtual std::vector<std::int32_t> choose(const PartRequest& request) = 0;
  /// Compiles all nodes as one kernel; null if the device refuses after all.
  virtual std::unique_ptr<portable::OwnKernel> compile(const PartRequest& request) = 0;
};

}  // namespace tern
