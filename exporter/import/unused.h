// Nodes of a traced graph with unread results.
#pragma once

#include <set>
#include <string>

#include "exporter/pt2/model.h"

namespace tern::importing {

/// Adds the names of the graph's values read by an argument.
void add_read_names(const pt2::Argument& argument, std::set<std::string>* names);

/// Names read by the graph's outputs and by nodes with effects.
std::set<std::string> read_names_of(const pt2::Graph& graph);

/// True for a node without effect and without read results. Its operator may be unknown.
bool is_unused(const pt2::Node& node, const std::set<std::string>& read_names);

}  // namespace tern::importing
