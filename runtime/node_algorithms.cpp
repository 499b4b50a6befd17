#include "runtime/node_algorithms.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "kernels/cpu/processor.h"
#include "platform/environment.h"
#include "schema/op_record.h"

namespace tern {
namespace {

constexpr int kAnyThreads = 0;  // key for all thread counts without their own choice

/// Returns the choice if supported by the node's kernel, else an empty choice.
AlgorithmChoice choice_for(const PreparedProgram& prepared, const Node& node, AlgorithmChoice choice) {
  const std::span<const AlgorithmChoice> all = prepared.kernels->kernels[static_cast<std::size_t>(node.op)].algorithms;
  return std::ranges::find(all, choice) != all.end() ? choice : AlgorithmChoice{};
}

/// Maps exported node numbers to running nodes.
class RunningNodes {
 public:
  explicit RunningNodes(const PreparedProgram& prepared) : prepared_(prepared) {
    for (std::size_t f = 0; f < prepared.functions.size(); ++f) {
      const std::vector<std::uint32_t>& numbers = prepared.facts[f].numbers;
      auto& of_number = nodes_.emplace_back();
      for (std::uint32_t i = 0; i < numbers.size(); ++i) {
        if (of_number.size() <= numbers[i]) of_number.resize(numbers[i] + std::size_t{1}, kNone);
        of_number[numbers[i]] = i;
      }
    }
  }

  NodeAlgorithms algorithms(const Tuning& tuning) const {
    NodeAlgorithms chosen;
    for (const Tuning::Choice& c : tuning.choices) {
      if (c.function >= nodes_.size() || c.node >= nodes_[c.function].size()) continue;
      const std::uint32_t i = nodes_[c.function][c.node];
      if (i == kNone) continue;  // merged into another node
      chosen[{c.function, i}] =
          choice_for(prepared_, prepared_.functions[c.function].nodes[i], algorithm_of(c.algorithm));
    }
    return chosen;
  }

 private:
  static constexpr std::uint32_t kNone = ~0u;
  const PreparedProgram& prepared_;
  std::vector<std::vector<std::uint32_t>> nodes_;
};

/// Products with a constant bfloat16 weight as second operand, keyed by storage.
std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, std::uint32_t>>> products_of_weights(
    const PreparedProgram& prepared, const Program& program) {
  std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, std::uint32_t>>> products;
  for (std::uint32_t f = 0; f < prepared.functions.size(); ++f) {
    const Function& function = prepared.functions[f];
    std::map<ValueId, std::uint32_t> storages;  // constants and their views
    for (const FunctionInput& in : function.inputs) {
      if (in.kind != FunctionInput::Kind::state) continue;
      const State& state = program.states[in.state];
      if (!state.is_mutable && state.type.dtype == DType::bf16) storages[in.value] = state.storage;
    }
    for (std::uint32_t i = 0; i < function.nodes.size(); ++i) {
      const Node& n = function.nodes[i];
      const std::size_t operand = n.op == Op::matmul ? 1 : 0;
      const auto found = n.inputs.size() > operand ? storages.find(n.inputs[operand]) : storages.end();
      if (found == storages.end()) continue;
      if (n.op == Op::matmul) products[found->second].push_back({f, i});
      if (is_view(n.op)) storages[n.outputs[0]] = found->second;
    }
  }
  return products;
}

/// Products of a weight shared by several functions (prefill and decode) read the weight in place: packing for many
/// rows would double its memory, because products of few rows read the unpacked weight.
NodeAlgorithms shared_weights_in_place(const PreparedProgram& prepared, const Program& program) {
  NodeAlgorithms chosen;
  for (const auto& [storage, nodes] : products_of_weights(prepared, program)) {
    if (std::ranges::all_of(nodes, [first = nodes[0].first](const auto& n) { return n.first == first; })) continue;
    for (const auto& [f, i] : nodes)
      chosen[{f, i}] = choice_for(prepared, prepared.functions[f].nodes[i], {Algorithm::tiles});
  }
  return chosen;
}

}  // namespace

void take_algorithms(PreparedProgram& prepared, const Tuning& tuning) {
  prepared.algorithms = {{kAnyThreads, RunningNodes(prepared).algorithms(tuning)}};
}

void choose_algorithms(PreparedProgram& prepared, const Program& program) {
  if (const auto forced = platform::trusted_variable("TERN_ALGORITHM")) {
    NodeAlgorithms chosen;
    for (std::uint32_t f = 0; f < prepared.functions.size(); ++f) {
      const std::vector<Node>& nodes = prepared.functions[f].nodes;
      for (std::uint32_t i = 0; i < nodes.size(); ++i)
        chosen[{f, i}] = choice_for(prepared, nodes[i], algorithm_of(*forced));
    }
    prepared.algorithms = {{kAnyThreads, std::move(chosen)}};
  } else {
    if (NodeAlgorithms chosen = shared_weights_in_place(prepared, program); !chosen.empty())
      prepared.algorithms[kAnyThreads] = std::move(chosen);
    if (program.tunings.empty()) return;
    const RunningNodes nodes(prepared);
    for (const Tuning& t : program.tunings) {
      if (t.threads > 0 && t.processor == cpu::processor())
        prepared.algorithms[static_cast<int>(t.threads)] = nodes.algorithms(t);
    }
  }
}

AlgorithmChoice PreparedProgram::algorithm(std::uint32_t function, std::uint32_t node, Threads threads) const {
  auto of_threads = algorithms.find(threads.count());
  if (of_threads == algorithms.end()) of_threads = algorithms.find(kAnyThreads);
  if (of_threads == algorithms.end()) return {};
  const auto found = of_threads->second.find({function, node});
  return found == of_threads->second.end() ? AlgorithmChoice{} : found->second;
}

}  // namespace tern
