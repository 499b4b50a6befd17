// Shared code for running and recording control flow.
#pragma once

#include <span>
#include <vector>

#include "runtime/frame.h"

namespace tern {

/// Places operands at a body's inputs: inputs of kind user take operands in order.
class BodyOperands {
 public:
  explicit BodyOperands(const Function& body) : body_(body), views_(body.inputs.size()) {}
  void set(std::size_t operand, const TensorView& v);
  std::span<const TensorView> views() const { return views_; }

 private:
  const Function& body_;
  std::vector<TensorView> views_;
};

/// Copies a body's result into the node's output; grows the output's memory if its size depends on data.
void deliver(Frame& frame, std::uint32_t node, std::size_t output, const TensorView& result, TensorView& out);

/// Reads a predicate. Waits for the value.
bool truth(const SessionContext& context, const TensorView& v);

/// Runs body `slot` of the node once.
void run_body(Frame& frame, std::uint32_t node, std::uint32_t slot, std::span<TensorView> operands,
              std::span<TensorView> out);

/// Records all bodies for a graph; each replay reads the predicates.
void record_cond(Frame& frame, std::uint32_t node, std::span<TensorView> in, std::span<TensorView> out);
void record_while(Frame& frame, std::uint32_t node, std::span<TensorView> in, std::span<TensorView> out);

}  // namespace tern
