// Names of a traced graph and their bindings during the construction of one function.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exporter/import/aliases.h"
#include "exporter/import/binding.h"
#include "exporter/import/shared.h"
#include "exporter/import/views.h"
#include "exporter/lower/lower.h"

namespace tern::importing {

class Scope {
 public:
  Scope(Shared& shared, std::uint32_t function) : shared_(shared), builder_(shared.program, function) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  Shared& shared() { return shared_; }
  Builder& builder() { return builder_; }
  Aliases& aliases() { return aliases_; }
  ExprPool& pool() { return shared_.program.pool; }
  Symbols& symbols() { return shared_.symbols; }

  void bind(const std::string& name, Binding binding);
  const Binding* find(std::string_view name) const;
  Bindings& names() { return bindings_; }

  /// Scalar, tensor or None of an argument.
  Binding binding_of(const pt2::Argument& argument) const;
  /// The current value of a tensor, or a tensor of no dimensions with the number.
  ValueId value_of(const Binding& binding);
  ValueId tensor_of(const pt2::Argument& argument) { return value_of(binding_of(argument)); }
  /// Lists among the arguments are taken apart.
  std::vector<Binding> flattened(std::span<const pt2::NamedArgument> arguments) const;
  std::vector<Binding> outputs_of(const pt2::Graph& graph) const;

  /// The value with the dtype and the sizes of another.
  ValueId convert_like(ValueId value, ValueId reference);
  /// Sets a tensor's new value, converted to the tensor's dtype and sizes. Under no_grad the old gradient stays.
  void write(const Binding& target, ValueId value);

  /// Looks up PyTorch's records in this graph's tables from now on.
  void enter(const pt2::Graph& graph) { graph_ = &graph; }
  const pt2::Graph* graph() const { return graph_; }
  const pt2::TensorMeta* meta_of(std::string_view name) const;
  RecordedLayout layout_of(const std::string& name) const;
  /// The expression of a scalar.
  bool recorded(const pt2::Argument& output, Dim* dim) const;
  /// Record of the tensor owning this memory: null without a PyTorch record. False for other Refs.
  bool memory(RefId owner, const pt2::TensorMeta** meta) const;
  /// Binds the outputs to values of the recorded types, so the walk can continue and find further missing operators.
  void substitute(const pt2::Node& node);

  DType autocast = DType::invalid;  ///< inside wrap_with_autocast
  bool no_grad = false;             ///< inside wrap_with_set_grad_enabled, and somebody asks for gradients
  int vmaps = 0;                    ///< depth of enclosing vmaps

 private:
  Shared& shared_;
  Builder builder_;
  Aliases aliases_;
  Bindings bindings_;
  std::map<RefId, const pt2::TensorMeta*> memory_;
  const pt2::Graph* graph_ = nullptr;
};

/// Base of classes over a scope.
class ScopeUser {
 protected:
  using BindingKind = Binding::Kind;
  explicit ScopeUser(Scope& scope)
      : scope_(scope), shared_(scope.shared()), builder_(scope.builder()), aliases_(scope.aliases()) {}
  ExprPool& pool() const { return scope_.pool(); }
  Symbols& symbols() const { return scope_.symbols(); }

  Scope& scope_;
  Shared& shared_;
  Builder& builder_;
  Aliases& aliases_;
};

/// Names defined by an output argument, in order; "" for None.
std::vector<std::string> output_names_of(const pt2::Argument& output);

}  // namespace tern::importing
