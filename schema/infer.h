// Shape rules, one per op: each computes output types from a node's input types and attributes. The exporter types new
// nodes, the validator checks archived nodes, and the runtime checks concrete sizes before a run.
#pragma once

#include <string>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Input of a rule. Rules check every property of a node able to make a kernel misbehave (ranks, dtypes, axes, strides,
/// kernel sizes, enum ranges), and call fail() on violations. Rules must not trust any value.
class Inference {
 public:
  Inference(const Program& program, ExprPool& pool, const Node& node, std::vector<const TensorType*> inputs);

  const Node& node;
  ExprPool& pool;
  const Program& program;
  std::vector<TensorType> outputs;

  std::size_t input_count() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  /// Input i; must be present.
  const TensorType& in(std::size_t i) const;
  [[noreturn]] void fail(const std::string& message) const;
  void require(bool condition, const char* message) const {
    if (!condition) fail(message);
  }
  void out(DType dtype, Dims shape) { outputs.push_back({dtype, std::move(shape)}); }

  // Attributes. Checked against the op's record before the rule: presence, type, bounds.
  std::int64_t integer(AttrKey key) const { return node.integer(key); }
  bool flag(AttrKey key) const { return node.integer(key) != 0; }
  std::size_t axis(AttrKey key, int rank) const;               ///< negative: counts from the end; must be below `rank`
  std::vector<std::size_t> axes(AttrKey key, int rank) const;  ///< distinct
  DType dtype() const { return static_cast<DType>(node.integer(AttrKey::dtype)); }
  DType dtype_or(DType otherwise) const { return node.has(AttrKey::dtype) ? dtype() : otherwise; }
  const Dims& list(AttrKey key, std::size_t length) const;  ///< exactly this many
  /// Exactly this many values, or as many defaults if the attribute is absent.
  std::vector<std::int64_t> integers(AttrKey key, std::size_t length) const;

  /// Requires equal sizes: fails if provably different; otherwise assumes equality, checked again for concrete sizes.
  void require_equal(Dim a, Dim b, const char* subject) const;
  bool differ(Dim a, Dim b) const;  ///< provably
  /// NumPy's broadcasting.
  Dims broadcast(const Dims& a, const Dims& b) const;

 private:
  std::vector<const TensorType*> inputs_;
};

/// Applies the rule of the node's op and returns the output types. Throws tern::Error with the node's op in the
/// message.
std::vector<TensorType> infer(const Program& program, ExprPool& pool, const Node& node,
                              const std::vector<const TensorType*>& inputs);

}  // namespace tern
