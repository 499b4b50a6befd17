#include <fmt/format.h>

#include "exporter/pt2/aten_schema.h"
#include "exporter/pt2/parse_parts.h"

namespace tern::pt2 {
namespace {

NamedArgument parse_named_argument(JsonValue value) {
  NamedArgument argument;
  argument.name = value["name"].as_string();
  argument.arg = parse_argument(value["arg"]);
  if (const auto kind = value.find("kind")) {
    if (kind->as_int() < 0 || kind->as_int() > 2) kind->bad(fmt::format("unknown kind of argument {}", kind->as_int()));
    argument.kind = static_cast<NamedArgument::Passing>(kind->as_int());
  }
  return argument;
}

/// Replaces higher_order.with_effects, which orders calls by a token, by the call: nodes run in the file's order.
void unwrap_effects(Node& node) {
  if (node.target != "torch.ops.higher_order.with_effects" || node.inputs.size() < 2 || node.outputs.empty() ||
      node.inputs[1].arg.kind != Argument::Kind::op)
    return;
  node.target = node.inputs[1].arg.text;
  node.inputs.erase(node.inputs.begin(), node.inputs.begin() + 2);
  node.outputs.erase(node.outputs.begin());
  if (node.outputs.size() == 1 && node.outputs[0].is_none()) node.outputs.clear();
  if (const Schema* schema = find_schema(node)) {
    for (std::size_t i = 0; i < node.inputs.size() && i < schema->arguments.size(); ++i) {
      if (node.inputs[i].name.empty()) node.inputs[i].name = schema->arguments[i].name;
    }
  }
  node.is_hop_single_tensor_return.reset();
}

Node parse_node(JsonValue value) {
  Node node;
  node.target = parse_identifier(value["target"]);
  const JsonValue inputs = value["inputs"].array();
  node.inputs.reserve(inputs.size());
  for (const JsonValue input : inputs) node.inputs.push_back(parse_named_argument(input));
  node.outputs = parse_arguments(value["outputs"]);
  node.metadata = parse_string_pairs(value["metadata"]);
  if (const auto name = value.find("name")) node.name = name->as_string();
  if (const auto is_single = value.find("is_hop_single_tensor_return"))
    node.is_hop_single_tensor_return = is_single->as_bool();
  unwrap_effects(node);
  return node;
}

// `value` may be absent, for fields missing in older schemas. The document has checked the keys for duplicates.
template <class T, class Read>
NameMap<T> parse_map(std::optional<JsonValue> value, Read read_value) {
  NameMap<T> map;
  if (value)
    for (const JsonValue member : value->object()) map.add(parse_key(member), read_value(member));
  map.seal();
  return map;
}

}  // namespace

Graph parse_graph(JsonValue value) {
  Graph graph;
  graph.inputs = parse_arguments(value["inputs"]);
  graph.outputs = parse_arguments(value["outputs"]);
  const JsonValue nodes = value["nodes"].array();
  graph.nodes.reserve(nodes.size());
  for (const JsonValue node : nodes) graph.nodes.push_back(parse_node(node));
  graph.tensor_values = parse_map<TensorMeta>(value["tensor_values"], parse_tensor_meta);
  graph.sym_int_values = parse_map<SymInt>(value.find("sym_int_values"), parse_sym_int);
  graph.sym_float_values = parse_map<SymFloat>(value.find("sym_float_values"), parse_sym_float);
  graph.sym_bool_values = parse_map<SymBool>(value.find("sym_bool_values"), parse_sym_bool);
  graph.custom_obj_values = parse_map<std::string>(value.find("custom_obj_values"),
                                                   [](JsonValue v) { return std::string(v["class_fqn"].as_string()); });
  if (const auto is_single = value.find("is_single_tensor_return"))
    graph.is_single_tensor_return = is_single->as_bool();
  return graph;
}

}  // namespace tern::pt2
