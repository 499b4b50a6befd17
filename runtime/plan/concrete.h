// Types, nodes and expressions with every symbol replaced by its value.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "schema/program.h"

namespace tern {

/// Evaluates expressions at known symbol values.
class Concrete {
 public:
  Concrete(const Program& program, std::span<const std::int64_t> expressions)
      : program_(program), expressions_(expressions) {}

  /// Returns kUndefined if a symbol is unbound, or the expression overflows or divides by zero.
  std::int64_t value_or_undefined(Dim d) const { return d.is_const() ? d.value() : expressions_[d.index()]; }
  /// Like `value_or_undefined`, but fails instead.
  std::int64_t value(Dim d) const;
  /// False if some size is not known yet.
  bool has_known_sizes(const TensorType& type) const;
  /// True if the view has the type's dtype and sizes.
  bool agrees(const TensorType& type, const TensorView& view) const;
  /// Contiguous view of the type's sizes. Fails on a negative size or more than 2^62 bytes.
  TensorView view(const TensorType& type) const;
  /// The type with constant sizes.
  TensorType type(const TensorType& type) const;
  /// Returns null if every attribute is constant already, else a copy of the node with constants. Attribute `symbols`
  /// is unchanged.
  std::unique_ptr<Node> resolve(const Node& node) const;
  /// Applies the node's shape rule to concrete types and compares the result with the program's declarations. The last
  /// check before kernels run.
  void check(const Function& function, std::size_t node, const Node& resolved) const;

 private:
  const Program& program_;
  std::span<const std::int64_t> expressions_;
};

/// "float32[2, 3]".
std::string text_of(const TensorView& view);

/// Bytes of a contiguous tensor with this view's sizes. Fails above 2^40 elements (sizes of 0 counted as 1).
std::uint64_t view_bytes(const TensorType& type, const TensorView& view);
/// View for copying a value: the view itself, or for an MX value all its bytes as one row, because the scales follow
/// the elements.
TensorView view_to_copy(const TensorType& type, const TensorView& view);

}  // namespace tern
