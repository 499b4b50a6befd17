#include "exporter/lower/repeated_heads.h"

#include <algorithm>

namespace tern {
namespace {

/// Operand of the `op` node producing `v`; kNoValue for other nodes.
ValueId operand_of(Builder& b, ValueId v, Op op) {
  const std::vector<Node>& nodes = b.function().nodes;
  const auto node = std::find_if(nodes.rbegin(), nodes.rend(),
                                 [&](const Node& n) { return std::ranges::find(n.outputs, v) != n.outputs.end(); });
  return v != kNoValue && node != nodes.rend() && node->op == op ? node->inputs[0] : kNoValue;
}

}  // namespace

ValueId before_repeating_heads(Builder& b, ValueId x) {
  const ValueId expanded = operand_of(b, x, Op::reshape), grouped = operand_of(b, expanded, Op::expand);
  if (grouped == kNoValue || b.rank(x) < 3) return kNoValue;
  const auto heads = static_cast<std::size_t>(b.rank(x) - 3), copies = heads + 1;
  Dims unexpanded = b.shape(expanded), merged = b.shape(expanded);
  if (unexpanded.size() != b.shape(x).size() + 1 || !unexpanded[copies].is_const() || !unexpanded[heads].is_const())
    return kNoValue;
  merged[heads] = b.pool().mul(unexpanded[heads], unexpanded[copies]);
  merged.erase(merged.begin() + static_cast<std::ptrdiff_t>(copies));
  unexpanded[copies] = 1;
  if (b.shape(grouped) != unexpanded || b.shape(x) != merged) return kNoValue;
  unexpanded.erase(unexpanded.begin() + static_cast<std::ptrdiff_t>(copies));
  const ValueId unrepeated = operand_of(b, grouped, Op::reshape);
  return unrepeated != kNoValue && b.shape(unrepeated) == unexpanded ? unrepeated : b.reshape(grouped, unexpanded);
}

}  // namespace tern
