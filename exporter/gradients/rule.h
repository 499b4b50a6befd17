// Gradient rules: each computes the gradients of a node's operands from the gradients of its results.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exporter/builder.h"

namespace tern {

/// Prefix of a gradient node's origin, before the name of the forward node's operator.
inline constexpr std::string_view kGradientOf = "gradient of ";

struct BackwardFunctions;

/// Finds the producer of a value in an append-only function.
class Producers {
 public:
  /// Node with the only result `value`, or null.
  const Node* producer_of(const Function& function, ValueId value);

 private:
  std::vector<std::size_t> nodes_;  ///< by value
  std::size_t indexed_nodes_ = 0;   ///< nodes
};

/// Forward node with gradients of its results, in the view of a rule. A gradient has its value's dtype and shape. The
/// gradient of a complex value z is dL/d(re z) + i dL/d(im z), as in PyTorch: for a holomorphic y = f(z), the gradient
/// of z is the gradient of y times conj(f'(z)).
///
/// A rule adds nodes with `b` and gives the operands' gradients:
///
///     void matmul(GradientCall& c) {
///       if (c.needs_gradient(0)) c.add_gradient(0, c.b.matmul(c.grad(0), c.b.transpose(c.operand(1), -1, -2)));
///       if (c.needs_gradient(1)) c.add_gradient(1, c.b.matmul(c.b.transpose(c.operand(0), -1, -2), c.grad(0)));
///     }
///
/// Rules follow torch.autograd for functions without a derivative. All forward values of a rule come from operand() and
/// result(): a later pass can then decide to store or recompute each. Ops with data-dependent sizes (masked_select)
/// cannot be recomputed: their results' shapes have symbols of their own.
class GradientCall {
 public:
  /// `grads` has an entry for each result of the node, `needs_gradient` for each operand.
  GradientCall(Builder& builder, std::size_t node_index, std::vector<ValueId> grads, std::vector<bool> needs_gradient,
               BackwardFunctions& backward_functions, Producers& node_producers);

  Builder& b;
  BackwardFunctions& backward;
  Producers& producers;
  const std::size_t index;  ///< index of the node in b.function().nodes
  const Node node;          ///< a copy: adding nodes moves the function's own

  std::size_t input_count() const { return node.inputs.size(); }
  std::size_t output_count() const { return grads_.size(); }
  bool has_operand(std::size_t i) const { return i < node.inputs.size() && node.inputs[i] != kNoValue; }
  /// Operand i, or kNoValue.
  ValueId operand(std::size_t i) const { return has_operand(i) ? node.inputs[i] : kNoValue; }
  /// Result i. A result unread by the forward function is added to the node here.
  ValueId result(std::size_t i);
  /// Gradient of result i, or kNoValue. At least one result has a gradient.
  ValueId grad(std::size_t i) const { return i < grads_.size() ? grads_[i] : kNoValue; }
  ValueId grad_or_zeros(std::size_t i);
  /// True if operand i is present and wants its gradient.
  bool needs_gradient(std::size_t i) const {
    return has_operand(i) && i < needs_gradient_.size() && needs_gradient_[i];
  }
  /// Adds to the gradient of operand i. The gradient may have any shape the operand broadcasts to, and any floating or
  /// complex dtype: sums and converts to the operand's type. Unwanted operands, and kNoValue, are ignored.
  void add_gradient(std::size_t i, ValueId gradient);

  /// Gradient given for operand i, or kNoValue: for the walk over the function.
  ValueId operand_gradient(std::size_t i) const { return operand_gradients_[i]; }

  /// Expression (exporter/expr_text.h) over tensors and numbers, computed and stored in the compute type of `like`:
  /// float32 for 16-bit values.
  ValueId expr(std::string_view text, std::vector<ExprArg> args, ValueId like);
  /// Conjugate of a complex value; a real value is returned unchanged.
  ValueId conj(ValueId x);

  // Attributes of the node: axes counted from 0.
  std::size_t axis(AttrKey key = AttrKey::axis);
  bool flag(AttrKey key) const { return node.integer(key) != 0; }

  /// PyTorch operator behind the node, "aten.amax.default"; empty if unknown, and for gradient nodes.
  std::string_view operator_name() const;

  /// Fails (unsupported): this node has no gradient, because of `why`. The message names the op and the Python line.
  [[noreturn]] void refuse(const std::string& reason) const;

 private:
  std::vector<ValueId> grads_, operand_gradients_;
  std::vector<bool> needs_gradient_;
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
