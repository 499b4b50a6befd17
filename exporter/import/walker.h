// Walks a traced graph node by node and builds a function of the program.
#pragma once

#include "exporter/import/arguments.h"
#include "exporter/import/calls.h"
#include "exporter/import/control.h"
#include "exporter/import/duals.h"
#include "exporter/import/host.h"
#include "exporter/import/mutations.h"
#include "exporter/import/scope.h"
#include "exporter/import/subclass_calls.h"
#include "exporter/import/vmaps.h"

namespace tern::importing {

class Walker {
 public:
  Walker(Shared& shared, std::uint32_t function) : scope_(shared, function) {}
  Walker(const Walker&) = delete;
  Walker& operator=(const Walker&) = delete;

  Scope& scope() { return scope_; }
  Scalars& scalars() { return scalars_; }

  /// Walks all nodes of the graph, or some of them.
  void run(const pt2::Graph& graph) { run(graph, graph.nodes); }
  void run(const pt2::Graph& graph, std::span<const pt2::Node> nodes);

 private:
  template <class Act>
  void process_node(const pt2::Node& import_node, Act act);
  void import_node(const pt2::Node& import_node);
  void dispatch(const pt2::Node& import_node);
  void turn_gradients(const pt2::Node& import_node);
  void operator_call(const pt2::Node& import_node);

  Scope scope_;
  Scalars scalars_{scope_};
  HostCalls host_{scope_, scalars_};
  Arguments arguments_{scope_};
  Results results_{scope_, scalars_};
  Calls calls_{scope_, results_};
  SubclassCalls subclasses_{scope_, arguments_, results_, calls_};
  Mutations mutations_{scope_, arguments_, results_, calls_};
  ControlFlow control_{scope_, scalars_, results_, *this};
  Duals duals_{scope_};
  Vmaps vmaps_{scope_, results_};
};

}  // namespace tern::importing
