// Shared code of running and recording control flow.
#pragma once

#include <span>
#include <vector>

#include "runtime/frame.h"

namespace tern {

/// Operands in the places of a body's inputs: those of kind user take them in order.
class BodyOperands {
 public:
  explicit BodyOperands(const Function& body) : body_(body), views_(body.inputs.size()) {}
  void set(std::size_t operand, const TensorView& v);
  std::span<const TensorView> views() const { return views_; }

 private:
  const Function& body_;
  std::vector<TensorView> views_;
};

/// Copies a body's result into the node's output, whose memory grows if its size depends on data.
void deliver(Frame& frame, std::uint32_t node, std::size_t output, const TensorView& result, TensorView& out);

/// Whether a predicate holds. Waits for it.
bool truth(const SessionContext& context, const TensorView& v);

/// Runs body `slot` of the node once.
void run_body(Frame& frame, std::uint32_t node, std::uint32_t slot, std::span<TensorView> operands,
              std::span<TensorView> out);

/// The same as running them, for a graph: all bodies are recorded, and the predicates read at each replay.
void record_cond(Frame& frame, std::uint32_t node, std::span<TensorView> in, std::span<TensorView> out);
void record_while(Frame& frame, std::uint32_t node, std::span<TensorView> in, std::span<TensorView> out);

}  // namespace tern
