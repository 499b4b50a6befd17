// The nodes that are measured, in portions: the values that are observed at once fit in bounded memory.
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
  std::vector<ValueId> values;  ///< results of the nodes that are measured, then their other operands; each once
};

/// Results of the node that are measured: real or complex floating tensors, but for views, which compute nothing.
std::vector<ValueId> measured_results(const Function& f, const Node& node);
/// Operands that are not weights.
std::vector<ValueId> outer_operands(const WeightValues& weights, const Node& node);
/// Whether the node can run alone on operands from outside: an MX tensor that a node makes cannot be handed over.
bool runs_alone(const Function& f, const WeightValues& weights, const Node& node);

/// In program order, the nodes that `measures` accepts; all where it is empty. Each portion's values take at most
/// `bytes` in any call, or there is one node in it.
std::vector<Portion> portions_of(const Function& f, std::span<const CallSizes> calls, std::uint64_t bytes,
                                 const std::function<bool(std::uint32_t node)>& measures = {});

}  // namespace tern
