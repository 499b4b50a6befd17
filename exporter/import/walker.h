// Walks a traced graph node by node and builds a function of the program from it.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exporter/import/aliases.h"
#include "exporter/import/binding.h"
#include "exporter/import/missing.h"
#include "exporter/import/origins.h"
#include "exporter/import/symbols.h"
#include "exporter/import/views.h"
#include "exporter/lower/lower.h"
#include "exporter/pt2/aten_schema.h"
#include "exporter/pt2/model.h"

namespace tern::importing {

class Walker;

/// A subgraph as a function of its own.
struct Body {
  std::uint32_t function = 0;
  std::size_t outputs = 0;           ///< of the subgraph; after them come the new values of operands that it writes
  std::vector<std::size_t> written;  ///< these operands
  std::vector<Binding> inputs;       ///< what the operands are inside
  std::shared_ptr<Walker> walker;
};

/// What the functions of one model have in common.
struct Shared {
  Shared(Program& p, const pt2::Program& m, Symbols& s, Missing& missing, const ImportOptions& options)
      : program(p), model(m), symbols(s), missing(missing), options(options), origins(p) {}
  Program& program;
  const pt2::Program& model;
  Symbols& symbols;
  Missing& missing;
  const ImportOptions& options;
  Origins origins;
  std::map<std::string, Body, std::less<>> subgraphs;  ///< of invoke_subgraph, by identifier and operand types
  std::size_t traced_nodes = 0;
  std::vector<std::string> warnings;
};

class Walker {
 public:
  Walker(Shared& shared, std::uint32_t function) : shared_(shared), builder_(shared.program, function) {}
  Walker(const Walker&) = delete;
  Walker& operator=(const Walker&) = delete;

  Builder& builder() { return builder_; }
  Aliases& aliases() { return aliases_; }
  ExprPool& pool() { return shared_.program.pool; }
  Symbols& symbols() { return shared_.symbols; }

  void bind(const std::string& name, Binding binding);
  const Binding* find(std::string_view name) const;

  /// All nodes of the graph, or a part of them.
  void run(const pt2::Graph& graph) { run(graph, graph.nodes); }
  void run(const pt2::Graph& graph, std::span<const pt2::Node> nodes);

  /// The scalar, tensor or None that an argument is.
  Binding binding_of(const pt2::Argument& argument) const;
  /// The current value of a tensor, or a tensor of no dimensions with the number.
  ValueId value_of(const Binding& binding);
  ValueId tensor_of(const pt2::Argument& argument) { return value_of(binding_of(argument)); }
  /// Names are looked up in this graph's tables from now on.
  void enter(const pt2::Graph& graph) { graph_ = &graph; }
  /// A number that is an input: `value`, a tensor of no dimensions.
  void bind_number(const pt2::Graph& graph, const pt2::Argument& argument, ValueId value);
  /// The value with the dtype and the sizes of another.
  ValueId like(ValueId value, ValueId other);

 private:
  friend class Region;
  using BindingKind = Binding::Kind;

  template <class Act>
  void at_node(const pt2::Node& node, Act act);
  void node(const pt2::Node& node);
  void dispatch(const pt2::Node& node);
  /// Binds the outputs to values of the recorded types, so that the walk can go on and find what else is missing.
  void substitute(const pt2::Node& node);

  // Operators: call.cpp, mutate.cpp
  Operand operand(const pt2::Argument& argument);
  Operand operand(const pt2::Argument& argument, const pt2::SchemaType& type);
  Call bind_call(const pt2::Node& node, const pt2::Schema* schema);
  std::vector<ValueId> lower(const pt2::Node& node, const Call& call);
  bool has_lowering(const std::string& target) const { return find_lowering(target) != nullptr; }
  void operator_call(const pt2::Node& node);
  void custom_call(const pt2::Node& node, const Call& call);
  bool strided_call(const pt2::Node& node, const Call& call);  ///< strided.cpp
  void bind_results(const pt2::Node& node, const std::vector<ValueId>& results, std::size_t first_node,
                    const pt2::Argument* view_of, const Call& call);
  void part_of_complex(const std::string& target, ViewStep* step);
  void check_result(const pt2::Node& node, const std::string& name, ValueId value);
  bool copies(const pt2::Node& node, const pt2::Argument& from, const std::string& to, const Call& call) const;
  Layout layout_of(const std::string& name) const;
  const pt2::TensorMeta* meta_of(std::string_view name) const;

  void mutating_call(const pt2::Node& node, const pt2::Schema& schema);
  bool special_mutation(const pt2::Node& node, const pt2::Schema& schema, const Call& call);
  void write(const Binding& target, ValueId value);
  bool batch_norm_training(const pt2::Node& node, const Call& call);
  void resize(const pt2::Node& node, const Dims& sizes);

  // Numbers on the host: scalars.cpp
  bool scalar_call(const pt2::Node& node);
  Binding compute(const pt2::Node& node, std::string_view function, const std::vector<Binding>& args);
  Binding compute_real(const pt2::Node& node, std::string_view function, const std::vector<Binding>& args);
  Binding from_tensor(const pt2::Node& node, ValueId value);  ///< a scalar read off a tensor: Op::item
  bool recorded(const pt2::Argument& output, Dim* dim);       ///< the expression that PyTorch recorded for a scalar
  Binding recorded_or(const pt2::Node& node, Binding otherwise);

  // Sizes, assertions, things without effect: host.cpp
  bool host_call(const pt2::Node& node, std::string_view target);
  void assert_dim(Dim condition, const std::string& text);

  // Control flow: control.cpp, loops.cpp, regions.cpp
  void control_call(const pt2::Node& node, std::string_view name);
  void cond(const pt2::Node& node);
  void while_loop(const pt2::Node& node);
  void scan(const pt2::Node& node);
  void map(const pt2::Node& node);
  void invoke_subgraph(const pt2::Node& node);
  void inlined(const pt2::Node& node, std::size_t graph_at, std::size_t operands_at);
  std::size_t region(const pt2::Graph& graph, std::span<const pt2::Node> nodes, std::size_t begin);

  std::vector<Binding> flattened(std::span<const pt2::NamedArgument> arguments);
  const pt2::Graph& graph_of(const pt2::Node& node, std::size_t input) const;
  /// A function of the graph; `operands` give the types of its inputs, `drop_axis` how many of them, from `mapped` on,
  /// lose their first axis.
  Body body(const std::string& name, const pt2::Graph& graph, const std::vector<Binding>& operands,
            std::size_t mapped_begin = 0, std::size_t mapped_count = 0);
  std::vector<ValueId> operand_values(const std::vector<Binding>& operands);
  /// Makes the new values of operands that any of the bodies writes results of all of them.
  static std::vector<std::size_t> add_written(const std::vector<Body*>& bodies);
  void bind_control(const pt2::Node& node, std::span<const ValueId> results);
  void write_back(const std::vector<std::size_t>& written, const std::vector<Binding>& operands,
                  std::span<const ValueId> results);
  std::vector<Binding> outputs_of(const pt2::Graph& graph);

  Shared& shared_;
  Builder builder_;
  Aliases aliases_;
  Names names_;
  /// What PyTorch recorded of each tensor that has memory of its own; null where it recorded nothing.
  std::map<RefId, const pt2::TensorMeta*> memory_;
  const pt2::Graph* graph_ = nullptr;
  DType autocast_ = DType::invalid;  ///< inside wrap_with_autocast
  int vmaps_ = 0;                    ///< around what is walked
};

/// The names that an output argument defines, in order; "" for None.
std::vector<std::string> output_names_of(const pt2::Argument& output);

}  // namespace tern::importing
