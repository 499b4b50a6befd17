// Programs with a single node, in sizes of real models.
#pragma once

#include <tern/tern.h>

#include <memory>
#include <string>
#include <vector>

#include "schema/program.h"

namespace tern::gpu_model {

struct SingleNode {
  std::string name;   // "layer_norm, 128 x 768, bfloat16"
  std::string group;  // pointwise, norm, softmax, reduction, movement, product, attention: selects the targets
  std::shared_ptr<const Program> program;
  std::vector<Tensor> inputs;
};

// Names only; make_single_node() adds the data.
std::vector<std::string> single_node_names();
SingleNode make_single_node(const std::string& name);

}  // namespace tern::gpu_model
