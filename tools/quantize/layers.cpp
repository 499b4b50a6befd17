#include "tools/quantize/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "schema/op_record.h"

namespace tern {
namespace {

Origin origin_of(const Program& program, const Node& n) {
  return n.origin < 0 ? Origin{} : program.origins[static_cast<std::size_t>(n.origin)];
}

/// Makes names unique: layers sharing a module get the names of their weights, and layers sharing a weight the numbers
/// of their nodes.
void make_unlike(std::vector<LayerError>& layers) {
  const auto shared = [&] {
    std::map<std::string, std::size_t> count;
    for (const LayerError& l : layers) ++count[l.name];
    return count;
  };
  std::map<std::string, std::size_t> count = shared();
  for (LayerError& l : layers) {
    if (count[l.name] > 1 && l.name != l.weight)
      l.name = l.weight.starts_with(l.name + ".") ? l.weight : fmt::format("{} ({})", l.name, l.weight);
  }
  count = shared();
  for (LayerError& l : layers) {
    if (count[l.name] > 1) l.name += fmt::format(" %{}:{}", l.node.function, l.node.node);
  }
}

std::vector<LayerError> layers_of(const Program& program, const QuantizeReport& report) {
  std::vector<LayerError> layers;
  for (const QuantizedWeight& w : report.weights) {
    for (const WeightReader& r : w.readers) {
      const Function& f = program.functions[r.function];
      const Node& n = f.nodes[r.node];
      const Origin o = origin_of(program, n);
      LayerError& l = layers.emplace_back();
      l.node = r;
      l.name = o.module.empty() ? w.name : o.module;
      l.function = f.name;
      l.op = op_name(n.op);
      l.source = o.source;
      l.weight = w.name;
      l.weight_source = w.source;
      l.format = w.format;
    }
  }
  std::ranges::sort(layers, [](const LayerError& a, const LayerError& b) {
    return std::pair(a.node.function, a.node.node) < std::pair(b.node.function, b.node.node);
  });
  make_unlike(layers);
  return layers;
}

}  // namespace

std::vector<LayerError> layer_errors(const FloatProgram& program, const QuantizeReport& report, const Calls& calls,
                                     const OnStep& on_step) {
  std::vector<LayerError> layers = layers_of(program.program(), report);
  std::set<std::uint32_t> nodes;
  for (const LayerError& l : layers) {
    if (l.node.function == program.function()) nodes.insert(l.node.node);
  }
  NodesRequest request;
  request.on_progress = on_step;
  request.measures = [&](std::uint32_t node) { return nodes.contains(node); };
  const Side test = program.quantized(choices_of(report)), reference = program.reference();
  for (const NodeDeviation& n : measure_nodes(test, reference, calls, request)) {
    for (LayerError& l : layers) {
      if (l.node.function != program.function() || l.node.node != n.number || !n.mismatch.empty()) continue;
      l.isolated = n.isolated;
      l.accumulated = n.accumulated;
    }
  }
  return layers;
}

}  // namespace tern
