// Compiles several nodes of a function as one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/portable/launcher.h"

namespace tern {

/// Nodes, with constant attributes, and values of known sizes, for a device to look at.
struct PartRequest {
  std::span<const Node* const> nodes;
  std::span<const ValueId> inputs, outputs;
  std::function<Precision(const Node&)> precision;  ///< what PrepareOptions say of the node; null: as exported
  std::function<TensorView(ValueId)> view;          ///< data is the address of what never changes, else null
};

class PartCompiler {
 public:
  virtual ~PartCompiler() = default;
  /// True if the device reads MX values: the operand of dequantize, the right operand of matmul.
  virtual bool takes_microscaled() const { return false; }
  /// The group of each node, -1: the device does not take it.
  virtual std::vector<std::int32_t> choose(const PartRequest& request) = 0;
  /// Runs all nodes; null where the device does not take them after all.
  virtual std::unique_ptr<portable::OwnKernel> compile(const PartRequest& request) = 0;
};

}  // namespace tern
