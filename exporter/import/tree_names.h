// Names of a program's inputs and outputs, from the pytrees of Python's nesting.
#pragma once

#include <string>
#include <vector>

#include "exporter/pt2/model.h"

namespace tern::importing {

/// Path to each leaf of in_spec, (args, kwargs): the parameter's name, then keys, fields and positions. Empty if the
/// file's description is absent or unreadable.
std::vector<std::vector<std::string>> input_paths(const pt2::Program& model);

/// Name for each leaf of in_spec, (args, kwargs): the parameter's name, with a path for nested leaves: "x",
/// "cache.0.key". Empty like input_paths().
std::vector<std::string> input_names(const pt2::Program& model);

/// Name for each leaf of out_spec: the key or field in a dictionary or named tuple, else "out0", "out1" ...
std::vector<std::string> output_names(const pt2::Program& model);

}  // namespace tern::importing
