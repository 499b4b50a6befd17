// What each node of a session's runs took, and what it had to do at least.
#pragma once

#include <tern/tern.h>

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "runtime/plan.h"

namespace tern {

class Profile {
 public:
  struct Entry {
    double seconds = 0, flops = 0, bytes = 0;
    std::uint64_t runs = 0, launches = 0;
    std::uint32_t members = 0;
  };
  /// A step of function `function` ran once with these views.
  void add(std::uint32_t function, const Step& step, std::span<const TensorView> in, std::span<const TensorView> out,
           double seconds);
  /// The device took so long for one launch or copy of a node that was added.
  void add_span(std::uint32_t function, std::uint32_t node, double seconds);
  /// By what they took, the longest first.
  std::vector<NodeTime> times(const Program& program) const;

 private:
  std::map<std::pair<std::uint32_t, std::uint32_t>, Entry> entries_;  ///< by function and node
};

/// Floating-point operations that the node's definition takes: products and sums of contractions, one for each element
/// and instruction of an expression, none for others.
double flops_of(const Node& node, std::span<const TensorView> in, std::span<const TensorView> out);

}  // namespace tern
