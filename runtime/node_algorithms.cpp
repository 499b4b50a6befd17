#include "runtime/node_algorithms.h"

#include <algorithm>
#include <cstdlib>

#include "kernels/cpu/processor.h"

namespace tern {
namespace {

constexpr int kAnyThreads = 0;  // every number that has no choice of its own

/// The choice, where the node's kernel has it.
AlgorithmChoice choice_for(const PreparedProgram& prepared, const Node& node, AlgorithmChoice choice) {
  const std::span<const AlgorithmChoice> all = prepared.kernels->kernels[static_cast<std::size_t>(node.op)].algorithms;
  return std::ranges::find(all, choice) != all.end() ? choice : AlgorithmChoice{};
}

/// Finds nodes that run by their exported numbers.
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
      if (i == kNone) continue;  // it was merged into another
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

}  // namespace

void take_algorithms(PreparedProgram& prepared, const Tuning& tuning) {
  prepared.algorithms = {{kAnyThreads, RunningNodes(prepared).algorithms(tuning)}};
}

void choose_algorithms(PreparedProgram& prepared, const Program& program) {
  if (const char* forced = std::getenv("TERN_ALGORITHM")) {
    NodeAlgorithms chosen;
    for (std::uint32_t f = 0; f < prepared.functions.size(); ++f) {
      const std::vector<Node>& nodes = prepared.functions[f].nodes;
      for (std::uint32_t i = 0; i < nodes.size(); ++i)
        chosen[{f, i}] = choice_for(prepared, nodes[i], algorithm_of(forced));
    }
    prepared.algorithms = {{kAnyThreads, std::move(chosen)}};
  } else if (!program.tunings.empty()) {
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
