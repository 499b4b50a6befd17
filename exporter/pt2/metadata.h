// Origin of a node: the module and the line of Python, from the node's metadata.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exporter/pt2/model.h"

namespace tern::pt2 {

/// Views of the node's metadata; empty, or 0, if absent.
struct SourceInfo {
  std::string_view module_path;  ///< innermost module: "layers.0.attention"; "" for the root
  std::string_view module_type;  ///< "torch.nn.modules.linear.Linear"
  std::string_view file;         ///< innermost frame outside PyTorch
  int line = 0;
  std::string_view function;
  std::string_view source;  ///< text of the line, trimmed
};

SourceInfo source_info(const Node& node);

/// Annotations from torch.fx.traceback.annotate: keys, and values as JSON text. Empty if absent or not a JSON object.
std::vector<std::pair<std::string, std::string>> custom_annotations(const Node& node);

}  // namespace tern::pt2
