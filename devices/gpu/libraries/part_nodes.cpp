#include "devices/gpu/libraries/part_nodes.h"

#include <algorithm>
#include <cstring>

namespace tern::gpu {

std::ptrdiff_t use_count(const tern_device_part& part, std::int32_t value) {
  std::ptrdiff_t count = 0;
  for (std::int32_t i = 0; i < part.node_count; ++i) {
    const tern_device_part_node& n = part.nodes[i];
    count += std::count(n.inputs, n.inputs + n.op.input_count, value);
  }
  return count;
}

std::int32_t maker(const tern_device_part& part, std::int32_t node, std::int32_t value) {
  for (std::int32_t i = 0; i < node; ++i)
    if (part.nodes[i].outputs[0] == value) return i;
  return -1;
}

std::vector<std::int32_t> chain_before(const tern_device_part& part, std::int32_t node, std::int32_t value) {
  std::vector<std::int32_t> nodes;
  while (true) {
    const std::int32_t before = use_count(part, value) == 1 ? maker(part, node, value) : -1;
    if (before < 0) return {};
    nodes.push_back(before);
    if (std::strcmp(part.nodes[before].op.name, "reshape") != 0) return nodes;
    node = before;
    value = part.nodes[before].inputs[0];
  }
}

}  // namespace tern::gpu
