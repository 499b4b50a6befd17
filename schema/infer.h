// The shape rules: each computes the types of a node's outputs from its inputs' types and attributes. One rule per op.
// The exporter types new nodes with it, the validator checks nodes of archives, and the runtime applies it to concrete
// sizes before a run.
#pragma once

#include <string>
#include <vector>

#include "schema/program.h"

namespace tern {

/// What a rule sees. Rules check everything about a node that can make a kernel misbehave (ranks, dtypes, axes,
/// strides, kernel sizes, enum ranges) and call fail() where it is wrong. They must not trust any value.
class Inference {
 public:
  Inference(const Program& program, ExprPool& pool, const Node& node, std::vector<const TensorType*> inputs);

  const Node& node;
  ExprPool& pool;
  const Program& program;
  std::vector<TensorType> outputs;

  std::size_t input_count() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  /// Input i, which must be there.
  const TensorType& in(std::size_t i) const;
  [[noreturn]] void fail(const std::string& message) const;
  void require(bool condition, const char* message) const {
    if (!condition) fail(message);
  }
  void out(DType dtype, Dims shape) { outputs.push_back({dtype, std::move(shape)}); }

  // Attributes. Before a rule runs, each one is checked against the op's record: presence, type, bounds.
  std::int64_t integer(AttrKey key) const { return node.integer(key); }
  bool flag(AttrKey key) const { return node.integer(key) != 0; }
  std::size_t axis(AttrKey key, int rank) const;               ///< counts from the end if negative; below `rank`
  std::vector<std::size_t> axes(AttrKey key, int rank) const;  ///< distinct
  DType dtype() const { return static_cast<DType>(node.integer(AttrKey::dtype)); }
  DType dtype_or(DType otherwise) const { return node.has(AttrKey::dtype) ? dtype() : otherwise; }
  const Dims& list(AttrKey key, std::size_t length) const;  ///< exactly this many
  /// Exactly this many, or the default as often where the attribute is absent.
  std::vector<std::int64_t> integers(AttrKey key, std::size_t length) const;

  /// Requires equal sizes: an error when provably different; otherwise they are taken as equal, and checked on concrete
  /// sizes.
  void same(Dim a, Dim b, const char* what) const;
  bool differ(Dim a, Dim b) const;  ///< provably
  /// NumPy's broadcasting.
  Dims broadcast(const Dims& a, const Dims& b) const;

 private:
  std::vector<const TensorType*> inputs_;
};

/// Applies the rule of the node's op: the types of its outputs. Throws tern::Error with the node's op in the message.
std::vector<TensorType> infer(const Program& program, ExprPool& pool, const Node& node,
                              const std::vector<const TensorType*>& inputs);

}  // namespace tern
