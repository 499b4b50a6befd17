// Gradient rules: for one node, the nodes that compute the gradients of its operands from those of its results.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exporter/builder.h"

namespace tern {

/// Origins of nodes that compute gradients: this and the name of the forward node's operator.
inline constexpr std::string_view kGradientOf = "gradient of ";

struct BackwardFunctions;

/// Finds the node that makes a value of a function whose nodes are only ever appended.
class Producers {
 public:
  /// The node whose only result `value` is, or null.
  const Node* of(const Function& function, ValueId value);

 private:
  std::vector<std::size_t> nodes_;  ///< by value
  std::size_t seen_ = 0;            ///< nodes
};

/// A forward node whose results have gradients, as a rule sees it. The gradient of a value has the value's dtype and
/// shape. That of a complex value z is dL/d(re z) + i dL/d(im z), as in PyTorch: where y = f(z) is holomorphic, the
/// gradient of z is that of y times conj(f'(z)).
///
/// A rule adds nodes with `b` and gives the operands' gradients:
///
///     void matmul(GradientCall& c) {
///       if (c.wants(0)) c.give(0, c.b.matmul(c.grad(0), c.b.transpose(c.in(1), -1, -2)));
///       if (c.wants(1)) c.give(1, c.b.matmul(c.b.transpose(c.in(0), -1, -2), c.grad(0)));
///     }
///
/// Rules follow torch.autograd where a function has no derivative. All of a rule's forward values come from in() and
/// out(), so that a later pass can decide whether each is kept or computed again. Ops that find out a size when they
/// run (masked_select) cannot be computed again: their results' shapes have symbols of their own.
class GradientCall {
 public:
  /// `grads` has an entry for each result of the node, `wanted` one for each operand.
  GradientCall(Builder& builder, std::size_t node_index, std::vector<ValueId> grads, std::vector<bool> wanted,
               BackwardFunctions& backward_functions, Producers& node_producers);

  Builder& b;
  BackwardFunctions& backward;
  Producers& producers;
  const std::size_t index;  ///< of the node in b.function().nodes
  const Node node;          ///< a copy: adding nodes moves the function's own

  std::size_t input_count() const { return node.inputs.size(); }
  std::size_t output_count() const { return grads_.size(); }
  bool has(std::size_t i) const { return i < node.inputs.size() && node.inputs[i] != kNoValue; }
  /// Operand i, or kNoValue.
  ValueId in(std::size_t i) const { return has(i) ? node.inputs[i] : kNoValue; }
  /// Result i. One that nothing reads in the forward function becomes a result of the node now.
  ValueId out(std::size_t i);
  /// The gradient of result i; kNoValue where nothing flows. At least one result has one.
  ValueId grad(std::size_t i) const { return i < grads_.size() ? grads_[i] : kNoValue; }
  ValueId grad_or_zeros(std::size_t i);
  /// Operand i is there, and its gradient is asked for.
  bool wants(std::size_t i) const { return has(i) && i < wanted_.size() && wanted_[i]; }
  /// The gradient of operand i, or a part of it: what is given more than once adds up. It may have the shape of
  /// anything that the operand broadcasts to, and any floating or complex dtype: it is summed and converted to the
  /// operand's type. An operand that is not wanted, or kNoValue, is ignored.
  void give(std::size_t i, ValueId gradient);

  /// The gradient that was given for operand i, or kNoValue: for the walk over the function.
  ValueId given(std::size_t i) const { return given_[i]; }

  /// An expression (exporter/expr_text.h) over tensors and numbers that is computed and stored in the compute type of
  /// `like`: float32 for 16-bit values.
  ValueId expr(std::string_view text, std::vector<ExprArg> args, ValueId like);
  /// The conjugate of a complex value; any other as it is.
  ValueId conj(ValueId x);

  // Attributes of the node: axes counted from 0.
  std::size_t axis(AttrKey key = AttrKey::axis);
  bool flag(AttrKey key) const { return node.integer(key) != 0; }

  /// The operator of PyTorch that the node was made of, "aten.amax.default"; empty where that is not known, and for a
  /// node that computes a gradient.
  std::string_view operator_name() const;

  /// Fails (unsupported): this node has no gradient, because of `why`. The message names the op and the Python line.
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  std::vector<ValueId> grads_, given_;
  std::vector<bool> wanted_;
};

using GradientRule = void (*)(GradientCall&);

struct GradientEntry {
  Op op;
  GradientRule rule;
};

/// The tables of rules, a file each.
#define TERN_GRADIENT_FAMILIES(X)                                              \
  X(pointwise)      /* pointwise */                                            \
  X(movement)       /* views, concat, pad, writes into a part */               \
  X(reductions)     /* reduce, select_reduce, softmax */                       \
  X(random)         /* random */                                               \
  X(products)       /* matmul, grouped_matmul */                               \
  X(control)        /* cond, scan_loop, map_loop, call */                      \
  X(contractions)   /* attention, cdist */                                     \
  X(sequences)      /* scan, sort, topk, segment_reduce, rnn */                \
  X(indexing)       /* gather, scatter, index, index_put, embedding_bag ... */ \
  X(normalizations) /* layer_norm, rms_norm, group_norm, batch_norm */         \
  X(windows)        /* convolution, pools, fold */                             \
  X(sampling)       /* resize, grid_sample, roi_align */                       \
  X(linalg)         /* factorizations and solvers */                           \
  X(spectral)       /* fft, eigenvalues, svd, matrix_exp */
#define TERN_GRADIENT_FAMILY(name) std::span<const GradientEntry> gradients_of_##name();
TERN_GRADIENT_FAMILIES(TERN_GRADIENT_FAMILY)
#undef TERN_GRADIENT_FAMILY

}  // namespace tern
