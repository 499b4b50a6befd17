// Time and minimal work of each node in a session's runs.
#pragma once

#include <tern/tern.h>

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"

namespace tern {

class Profile {
 public:
  struct Entry {
    double seconds = 0, flops = 0, bytes = 0;
    std::uint64_t runs = 0, launches = 0;
    std::uint64_t copies = 0;  ///< copies of operands before a run; the runs of a node that only copies
    std::uint32_t members = 0;
  };
  /// Records a run of a step of function `function` with these views.
  void add(std::uint32_t function, const PlanStep& step, std::span<const TensorView> in,
           std::span<const TensorView> out, double seconds);
  /// Adds the device's time for a launch or copy of a node added before.
  void add_span(std::uint32_t function, std::uint32_t node, double seconds);
  /// The slowest first.
  std::vector<NodeTime> times(const Program& program) const;

 private:
  std::map<std::pair<std::uint32_t, std::uint32_t>, Entry> entries_;  ///< keyed by function and node
};

/// Least operations of the node, by the cost in the op's record: products and sums of contractions and factorizations,
/// comparisons of sorts, one per element and instruction of an expression. 0 for ops without a cost.
double flops_of(const Node& node, std::span<const TensorView> in, std::span<const TensorView> out);
/// Minimal memory traffic of the node: bytes of its operands and results, each counted once.
double min_bytes(const Node& node, std::span<const TensorView> in, std::span<const TensorView> out);

}  // namespace tern
