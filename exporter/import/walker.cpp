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
void Walker::process_node(const pt2::Node& node, Act act) {
  Shared& shared = scope_.shared();
  scope_.builder().set_origin(shared.options.origins || shared.is_differentiated ? shared.origins.origin_of(node) : -1,
                              shared.options.annotations ? annotations_of(node) : std::vector<Annotation>{});
  const auto located = [&node](ErrorCode code, const std::string& message) {
    return NodeError(code, message, printable(short_target(node.target)), printable(where(node)));
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
      shared.missing.add(node, e.what());
      scope_.substitute(node);
      return;
    }
    throw located(e.code(), e.what());
  } catch (const std::out_of_range&) {
    throw located(ErrorCode::bad_file, "the node has fewer operands or results than its operator needs");
  }
}

void Walker::node(const pt2::Node& node) {
  ++scope_.shared().traced_nodes;
  process_node(node, [&] { dispatch(node); });
}

void Walker::run(const pt2::Graph& graph, std::span<const pt2::Node> nodes) {
  const pt2::Graph* outer = scope_.graph();
  scope_.enter(graph);
  auto& cache = scope_.shared().names_read;
  const auto [it, is_new] = cache.try_emplace(&graph);
  if (is_new) it->second = names_read(graph);
  const std::set<std::string>& read = it->second;
  for (std::size_t i = 0; i < nodes.size();) {
    if (is_unused(nodes[i], read)) {
      ++i;
      continue;
    }
    if (nodes[i].target == "torch._functorch.predispatch._vmap_increment_nesting") {
      std::size_t next = nodes.size();  // an unsupported region ends the walk
      process_node(nodes[i], [&] { next = vmaps_.region(graph, nodes, i); });
      i = next;
    } else {
      node(nodes[i]);
      ++i;
    }
  }
  if (outer != nullptr) scope_.enter(*outer);
}

void Walker::operator_call(const pt2::Node& node) {
  const pt2::Schema* schema = pt2::find_schema(node);
  if (schema != nullptr && schema->mutates()) return mutations_.call(node, *schema);
  const Call call = arguments_.bind(node, schema);
  if (!mutations_.batch_norm_training(node, call)) calls_.run(node, schema, call);
}

/// torch.export turns regions of no_grad into operators; a bare switch does not mark the region's end.
void Walker::turn_gradients(const pt2::Node& node) {
  if (node.inputs.empty() || node.inputs[0].arg.kind != pt2::Argument::Kind::boolean || node.inputs[0].arg.boolean)
    return;
  fail(ErrorCode::unsupported,
       "gradients are turned off by a bare torch._C._set_grad_enabled, which this export kept; write the region as "
       "`with torch.no_grad():` and export it again");
}

void Walker::dispatch(const pt2::Node& node) {
  const std::string_view target = node.target;
  if (duals_.call(node)) return;
  if (const auto call = aten_call_of(node)) return dispatch(*call);
  constexpr std::string_view ops = "torch.ops.", control = "torch.ops.higher_order.";
  if (target.starts_with(control)) {
    control_.call(node, target.substr(control.size()));
  } else if (target.starts_with(ops)) {
    const std::string_view name = target.substr(ops.size());
    if (!subclasses_.call(node, name) && !host_.call(node, name)) operator_call(node);
  } else if (!scalars_.call(node)) {
    if (target == "torch._C._set_grad_enabled" && scope_.shared().options.transform) turn_gradients(node);
    if (target != "torch._functorch.predispatch.lazy_load_decompositions" && target != "torch._C._set_grad_enabled") {
      scope_.shared().missing.add(node);
    }
    scope_.substitute(node);
  }
}

}  // namespace tern::importing
