#include "runtime/node_ways.h"

#include <algorithm>
#include <cstdlib>

#include "kernels/cpu/processor.h"

namespace tern {
namespace {

constexpr int kAnyThreads = 0;  // every number that has no choice of its own

/// The way, where the node's kernel has it.
Way way_of_node(const PreparedProgram& prepared, const Node& node, Way way) {
  const std::span<const Way> ways = prepared.kernels->kernels[static_cast<std::size_t>(node.op)].ways;
  return std::ranges::find(ways, way) != ways.end() ? way : Way::none;
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

  NodeWays ways(const Tuning& tuning) const {
    NodeWays ways;
    for (const Tuning::Choice& c : tuning.choices) {
      if (c.function >= nodes_.size() || c.node >= nodes_[c.function].size()) continue;
      const std::uint32_t i = nodes_[c.function][c.node];
      if (i == kNone) continue;  // it was merged into another
      ways[{c.function, i}] = way_of_node(prepared_, prepared_.functions[c.function].nodes[i], way_of(c.way));
    }
    return ways;
  }

 private:
  static constexpr std::uint32_t kNone = ~0u;
  const PreparedProgram& prepared_;
  std::vector<std::vector<std::uint32_t>> nodes_;
};

}  // namespace

void take_ways(PreparedProgram& prepared, const Tuning& tuning) {
  prepared.ways = {{kAnyThreads, RunningNodes(prepared).ways(tuning)}};
}

void choose_ways(PreparedProgram& prepared, const Program& program) {
  if (const char* forced = std::getenv("TERN_WAY")) {
    NodeWays ways;
    for (std::uint32_t f = 0; f < prepared.functions.size(); ++f) {
      const std::vector<Node>& nodes = prepared.functions[f].nodes;
      for (std::uint32_t i = 0; i < nodes.size(); ++i) ways[{f, i}] = way_of_node(prepared, nodes[i], way_of(forced));
    }
    prepared.ways = {{kAnyThreads, std::move(ways)}};
  } else if (!program.tunings.empty()) {
    const RunningNodes nodes(prepared);
    for (const Tuning& t : program.tunings) {
      if (t.threads > 0 && t.processor == cpu::processor()) prepared.ways[static_cast<int>(t.threads)] = nodes.ways(t);
    }
  }
}

Way PreparedProgram::way(std::uint32_t function, std::uint32_t node, Threads threads) const {
  auto of_threads = ways.find(threads.count());
  if (of_threads == ways.end()) of_threads = ways.find(kAnyThreads);
  if (of_threads == ways.end()) return Way::none;
  const auto found = of_threads->second.find({function, node});
  return found == of_threads->second.end() ? Way::none : found->second;
}

}  // namespace tern
