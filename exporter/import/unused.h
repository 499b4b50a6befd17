// Nodes of a traced graph whose results nothing reads.
#pragma once

#include <set>
#include <string>

#include "exporter/pt2/model.h"

namespace tern::importing {

/// Adds the names of the graph's values that an argument reads.
void add_names_read(const pt2::Argument& argument, std::set<std::string>* names);

/// The names that outputs of the graph and nodes that must run read.
std::set<std::string> names_read(const pt2::Graph& graph);

/// True for a node without effect, none of whose results is among the names that are read. Its operator need not be
/// known.
bool is_unused(const pt2::Node& node, const std::set<std::string>& read);

}  // namespace tern::importing
