// Origins of the program's nodes: ATen op, module and line of Python, each stored once.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "exporter/pt2/model.h"
#include "schema/program.h"

namespace tern::importing {

/// "aten.add.Tensor" for "torch.ops.aten.add.Tensor"; other targets are unchanged.
std::string_view short_target(std::string_view target);

/// "encoder.attn, model.py:42, node 'add_3'", for messages.
std::string position_text(const pt2::Node& node);

class Origins {
 public:
  explicit Origins(Program& program) : program_(program) {}
  std::int32_t origin_of(const pt2::Node& node);

 private:
  Program& program_;
  std::map<std::tuple<std::string, std::string, std::string>, std::int32_t> origin_indices_;
};

/// Annotations from torch.fx.traceback.annotate on the node.
std::vector<Annotation> annotations_of(const pt2::Node& node);

}  // namespace tern::importing
