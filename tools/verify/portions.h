// Divides the measured nodes into portions: the values observed at once must fit in bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tools/verify/symbols.h"
#include "tools/verify/weights.h"

namespace tern {

struct Portion {
  std::vector<std::uint32_t> nodes;
  std::vector<ValueId> values;  ///< results of the measured nodes, then their other operands; each once
};

/// Measured results of a node: real or complex floating tensors, except views (they compute nothing).
std::vector<ValueId> measured_results(const Function& f, const Node& node);
/// Operands except weights.
std::vector<ValueId> outer_operands(const WeightValues& weights, const Node& node);
/// True if the node can run alone on outside operands: an MX tensor computed by a node cannot be passed in.
bool runs_alone(const Function& f, const WeightValues& weights, const Node& node);

/// The nodes accepted by `measures` (empty: all nodes), in program order. The values of a portion take at most `bytes`
/// in any call, except for a portion with a single node.
std::vector<Portion> portions_of(const Function& f, std::span<const CallSizes> calls, std::uint64_t bytes,
                                 const std::function<bool(std::uint32_t node)>& measures = {});

}  // namespace tern
