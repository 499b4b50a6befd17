// The names of a traced graph and what they stand for, while one function is built from it.
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
  Names& names() { return names_; }

  /// The scalar, tensor or None that an argument is.
  Binding binding_of(const pt2::Argument& argument) const;
  /// The current value of a tensor, or a tensor of no dimensions with the number.
  ValueId value_of(const Binding& binding);
  ValueId tensor_of(const pt2::Argument& argument) { return value_of(binding_of(argument)); }
  /// Lists among the arguments are taken apart.
  std::vector<Binding> flattened(std::span<const pt2::NamedArgument> arguments) const;
  std::vector<Binding> outputs_of(const pt2::Graph& graph) const;

  /// The value with the dtype and the sizes of another.
  ValueId like(ValueId value, ValueId other);
  /// What a tensor holds from now on; the value takes its dtype and sizes. Under no_grad its gradient stays that of
  /// what it held.
  void write(const Binding& target, ValueId value);

  /// What PyTorch recorded is looked up in this graph's tables from now on.
  void enter(const pt2::Graph& graph) { graph_ = &graph; }
  const pt2::Graph* graph() const { return graph_; }
  const pt2::TensorMeta* meta_of(std::string_view name) const;
  Layout layout_of(const std::string& name) const;
  /// The expression of a scalar.
  bool recorded(const pt2::Argument& output, Dim* dim) const;
  /// Of the tensor whose memory of its own this is: null where PyTorch recorded nothing. False for others.
  bool memory(RefId owner, const pt2::TensorMeta** meta) const;
  /// Binds the outputs to values of the recorded types, so that the walk can go on and find what else is missing.
  void substitute(const pt2::Node& node);

  DType autocast = DType::invalid;  ///< inside wrap_with_autocast
  bool no_grad = false;             ///< inside wrap_with_set_grad_enabled, and somebody asks for gradients
  int vmaps = 0;                    ///< around what is walked

 private:
  Shared& shared_;
  Builder builder_;
  Aliases aliases_;
  Names names_;
  std::map<RefId, const pt2::TensorMeta*> memory_;
  const pt2::Graph* graph_ = nullptr;
};

/// What works on a scope.
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

/// The names that an output argument defines, in order; "" for None.
std::vector<std::string> output_names_of(const pt2::Argument& output);

}  // namespace tern::importing
