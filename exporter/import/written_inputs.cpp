// Finds inputs possibly written by a traced graph, by names alone, before any import.
#include <map>
#include <numeric>
#include <vector>

#include "exporter/import/states.h"
#include "exporter/pt2/aten_schema.h"

namespace tern::importing {
namespace {

/// Sets of names with possibly shared memory.
class DisjointSets {
 public:
  std::size_t set_of(const std::string& name) {
    const auto [it, added] = name_indices_.try_emplace(name, parent_.size());
    if (added) parent_.push_back(it->second);
    return find(it->second);
  }
  void join(std::size_t a, std::size_t b) { parent_[find(a)] = find(b); }
  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

 private:
  std::map<std::string, std::size_t> name_indices_;
  std::vector<std::size_t> parent_;
};

void names_of(const pt2::Argument& a, std::vector<std::string>* names) {
  if (a.kind == pt2::Argument::Kind::tensor) names->push_back(a.name);
  if (a.kind == pt2::Argument::Kind::tensors || a.kind == pt2::Argument::Kind::optional_tensors) {
    for (const std::string& n : a.names) {
      if (!n.empty()) names->push_back(n);
    }
  }
}

}  // namespace

std::set<std::string> written_inputs(const pt2::Graph& graph) {
  DisjointSets name_sets;
  std::vector<std::string> written;
  for (const pt2::Node& node : graph.nodes) {
    const pt2::Schema* schema = pt2::find_schema(node);
    std::vector<std::string>
        shared;  // a call without a schema: its tensors may share memory, and a body may write them
    bool aliases = schema == nullptr;
    if (schema != nullptr) {
      for (const pt2::SchemaArgument& r : schema->returns) aliases = aliases || r.is_alias();
    }
    for (const pt2::NamedArgument& input : node.inputs) {
      const pt2::SchemaArgument* a = schema == nullptr ? nullptr : schema->find(input.name);
      if (a != nullptr ? a->is_mutated : input.arg.kind == pt2::Argument::Kind::graph) {
        if (a != nullptr) {
          names_of(input.arg, &written);
        } else {
          for (const pt2::NamedArgument& other : node.inputs) names_of(other.arg, &written);
        }
      }
      if (input.name.starts_with("running_")) names_of(input.arg, &written);  // batch_norm writes without saying so
      if (a == nullptr || a->is_alias()) names_of(input.arg, &shared);
    }
    if (!aliases) continue;
    for (const pt2::Argument& output : node.outputs) names_of(output, &shared);
    for (std::size_t i = 1; i < shared.size(); ++i)
      name_sets.join(name_sets.set_of(shared[0]), name_sets.set_of(shared[i]));
  }
  std::set<std::size_t> roots;
  for (const std::string& name : written) roots.insert(name_sets.set_of(name));
  std::set<std::string> result;
  for (const pt2::Argument& input : graph.inputs) {
    if (roots.contains(name_sets.set_of(input.name))) result.insert(input.name);
  }
  return result;
}

}  // namespace tern::importing
