// Where a node comes from: the module and the line of Python, from the node's metadata.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exporter/pt2/model.h"

namespace tern::pt2 {

/// Views of the node's metadata; empty, or 0, where it does not say.
struct SourceInfo {
  std::string_view module_path;  ///< of the innermost module: "layers.0.attention"; "" for the root
  std::string_view module_type;  ///< "torch.nn.modules.linear.Linear"
  std::string_view file;         ///< of the innermost frame that is not PyTorch's own
  int line = 0;
  std::string_view function;
  std::string_view source;  ///< the text of that line, without the spaces around it
};

SourceInfo source_info(const Node& node);

/// What torch.fx.traceback.annotate attached: keys, and values as JSON text. Empty when there is none or it is not a
/// JSON object.
std::vector<std::pair<std::string, std::string>> custom_annotations(const Node& node);

}  // namespace tern::pt2
