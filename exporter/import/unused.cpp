#include "exporter/import/unused.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "exporter/import/names.h"
#include "exporter/import/scope.h"
#include "exporter/pt2/aten_schema.h"

namespace tern::importing {
namespace {

/// Namespaces of operators with effects limited to their schemas. Collectives have partners, and other libraries'
/// operators may do anything. An operator without a schema is from a newer PyTorch, and writes if its name ends in an
/// underscore.
constexpr std::string_view kPureNamespaces[] = {
    "aten.", "prims.", "quantized_decomposed.", "quantized.", "torchvision.", "torchaudio.", "torchao."};
constexpr std::string_view kUnusedScalars[] = {"_operator.", "math.", "torch.sym_", "torch._sym_"};

bool starts_with_any(std::string_view text, std::span<const std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view p) { return text.starts_with(p); });
}

bool has_no_effect(const pt2::Node& node) {
  std::string_view name = node.target;
  if (starts_with_any(name, kUnusedScalars)) return true;
  constexpr std::string_view kOps = "torch.ops.";
  if (!name.starts_with(kOps)) return false;
  name.remove_prefix(kOps.size());
  // Reading a number off a tensor binds a symbol.
  if (!starts_with_any(name, kPureNamespaces) || node.outputs.empty() || contains(host_names(), name) ||
      contains(names_without_effect(), name))
    return false;
  if (const pt2::Schema* schema = pt2::find_schema(node)) return !schema->mutates();
  return !name.substr(0, name.rfind('.')).ends_with('_');
}

}  // namespace

void add_read_names(const pt2::Argument& argument, std::set<std::string>* names) {
  using Kind = pt2::Argument::Kind;
  if (argument.kind != Kind::graph && !argument.name.empty()) names->insert(argument.name);
  if (argument.kind == Kind::tensors || argument.kind == Kind::optional_tensors)
    names->insert(argument.names.begin(), argument.names.end());
  for (const auto& s : argument.sym_ints) names->insert(s.name);
  for (const auto& s : argument.sym_bools) names->insert(s.name);
  for (const auto& s : argument.sym_floats) names->insert(s.name);
  for (const pt2::Argument& item : argument.items) add_read_names(item, names);
}

bool is_unused(const pt2::Node& node, const std::set<std::string>& read_names) {
  if (!has_no_effect(node)) return false;
  // A result without a name is None, which lists of operands hold, too.
  const auto is_read = [&](const std::string& name) { return !name.empty() && read_names.contains(name); };
  return std::ranges::none_of(
      node.outputs, [&](const pt2::Argument& output) { return std::ranges::any_of(output_names_of(output), is_read); });
}

std::set<std::string> read_names_of(const pt2::Graph& graph) {
  std::set<std::string> read_names;
  for (const pt2::Argument& output : graph.outputs) add_read_names(output, &read_names);
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (is_unused(*node, read_names)) continue;
    for (const pt2::NamedArgument& argument : node->inputs) add_read_names(argument.arg, &read_names);
  }
  return read_names;
}

}  // namespace tern::importing
