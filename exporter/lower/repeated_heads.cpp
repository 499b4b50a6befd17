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
  Dims one = b.shape(expanded), merged = b.shape(expanded);
  if (one.size() != b.shape(x).size() + 1 || !one[copies].is_const() || !one[heads].is_const()) return kNoValue;
  merged[heads] = b.pool().mul(one[heads], one[copies]);
  merged.erase(merged.begin() + static_cast<std::ptrdiff_t>(copies));
  one[copies] = 1;
  if (b.shape(grouped) != one || b.shape(x) != merged) return kNoValue;
  one.erase(one.begin() + static_cast<std::ptrdiff_t>(copies));
  const ValueId before = operand_of(b, grouped, Op::reshape);
  return before != kNoValue && b.shape(before) == one ? before : b.reshape(grouped, one);
}

}  // namespace tern
