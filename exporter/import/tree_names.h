// Names of a program's inputs and outputs, from the pytrees that describe how Python nests them.
#pragma once

#include <string>
#include <vector>

#include "exporter/pt2/model.h"

namespace tern::importing {

/// The way to each leaf of in_spec, (args, kwargs): the parameter's name, then keys, fields and positions. Empty when
/// the file has no such description or it cannot be read.
std::vector<std::vector<std::string>> input_paths(const pt2::Program& model);

/// One name for each leaf of in_spec, (args, kwargs): the parameter's name, with a path for what is nested: "x",
/// "cache.0.key". Empty as input_paths().
std::vector<std::string> input_names(const pt2::Program& model);

/// One for each leaf of out_spec: a key or field where it is a dictionary or a named tuple, else "out0", "out1" ...
std::vector<std::string> output_names(const pt2::Program& model);

}  // namespace tern::importing
