#include "exporter/import/walker.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <stdexcept>

#include "dtypes/printable.h"
#include "exporter/import/node_error.h"
#include "exporter/import/prims.h"
#include "exporter/import/unused.h"
#include "schema/work.h"

namespace tern::importing {

/// Runs `act` for a node: errors get the node's origin; unsupported operators are collected for the list.
template <class Act>
void Walker::process_node(const pt2::Node& import_node, Act act) {
  Shared& shared = scope_.shared();
  scope_.builder().set_origin(
      shared.options.origins || shared.is_differentiated ? shared.origins.origin_of(import_node) : -1,
      shared.options.annotations ? annotations_of(import_node) : std::vector<Annotation>{});
  const auto located = [&import_node](ErrorCode code, const std::string& message) {
    return NodeError(code, message, printable(short_target(import_node.target)), printable(position_text(import_node)));
  };
  try {
    act();
    scope_.symbols().require_shallow();
  } catch (const NodeError&) {
    throw;  // the error of an inner node
  } catch (const WorkExceeded& e) {
    throw located(e.code(), e.what());
  } catch (const Error& e) {
    if (e.code() == ErrorCode::unsupported) {
      shared.missing.add(import_node, e.what());
      scope_.substitute(import_node);
      return;
    }
    throw located(e.code(), e.what());
  } catch (const std::out_of_range&) {
    throw located(ErrorCode::bad_file, "the node has fewer operands or results than its operator needs");
  }
}

void Walker::import_node(const pt2::Node& import_node) {
  ++scope_.shared().traced_nodes;
  process_node(import_node, [&] { dispatch(import_node); });
}

void Walker::run(const pt2::Graph& graph, std::span<const pt2::Node> nodes) {
  const pt2::Graph* outer = scope_.graph();
  scope_.enter(graph);
  auto& cache = scope_.shared().names_read;
  const auto [it, is_new] = cache.try_emplace(&graph);
  if (is_new) it->second = read_names_of(graph);
  const std::set<std::string>& read_names = it->second;
  for (std::size_t i = 0; i < nodes.size();) {
    if (is_unused(nodes[i], read_names)) {
      ++i;
      continue;
    }
    if (nodes[i].target == "torch._functorch.predispatch._vmap_increment_nesting") {
      std::size_t next = nodes.size();  // an unsupported region ends the walk
      process_node(nodes[i], [&] { next = vmaps_.import_region(graph, nodes, i); });
      i = next;
    } else {
      import_node(nodes[i]);
      ++i;
    }
  }
  if (outer != nullptr) scope_.enter(*outer);
}

void Walker::operator_call(const pt2::Node& import_node) {
  const pt2::Schema* schema = pt2::find_schema(import_node);
  if (schema != nullptr && schema->mutates()) return mutations_.call(import_node, *schema);
  const Call call = arguments_.bind(import_node, schema);
  if (!mutations_.batch_norm_training(import_node, call)) calls_.run(import_node, schema, call);
}

/// torch.export turns regions of no_grad into operators; a bare switch does not mark the region's end.
void Walker::turn_gradients(const pt2::Node& import_node) {
  if (import_node.inputs.empty() || import_node.inputs[0].arg.kind != pt2::Argument::Kind::boolean ||
      import_node.inputs[0].arg.boolean)
    return;
  fail(ErrorCode::unsupported,
       "gradients are turned off by a bare torch._C._set_grad_enabled, which this export kept; write the region as "
       "`with torch.no_grad():` and export it again");
}

void Walker::dispatch(const pt2::Node& import_node) {
  const std::string_view target = import_node.target;
  if (duals_.call(import_node)) return;
  if (const auto call = aten_call_of(import_node)) return dispatch(*call);
  constexpr std::string_view ops = "torch.ops.", control = "torch.ops.higher_order.";
  if (target.starts_with(control)) {
    control_.call(import_node, target.substr(control.size()));
  } else if (target.starts_with(ops)) {
    const std::string_view name = target.substr(ops.size());
    if (!subclasses_.call(import_node, name) && !host_.call(import_node, name)) operator_call(import_node);
  } else if (!scalars_.call(import_node)) {
    if (target == "torch._C._set_grad_enabled" && scope_.shared().options.transform) turn_gradients(import_node);
    if (target != "torch._functorch.predispatch.lazy_load_decompositions" && target != "torch._C._set_grad_enabled") {
      scope_.shared().missing.add(import_node);
    }
    scope_.substitute(import_node);
  }
}

}  // namespace tern::importing
