#include "exporter/llm/filled_slots.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "generation/names.h"

namespace tern {
namespace {

/// Marks values as cache: a state updated by the function, or the state with other elements or in another form. Keys of
/// something else, such as an encoder's, may have the same count.
std::vector<bool> caches(const Function& f) {
  std::vector<bool> found(f.values.size());
  for (const FunctionInput& input : f.inputs) {
    const auto updates = [&](const WriteBack& w) {
      return w.target == WriteBack::Target::state && w.index == input.state;
    };
    if (input.kind == FunctionInput::Kind::state && std::ranges::any_of(f.writebacks, updates))
      found[static_cast<std::size_t>(input.value)] = true;
  }
  const auto is_found = [&](ValueId v) { return v != kNoValue && found[static_cast<std::size_t>(v)]; };
  for (const Node& n : f.nodes) {
    if (n.op == Op::matmul || n.op == Op::attention || n.inputs.empty()) continue;
    const bool any_operand = n.op == Op::pointwise || n.op == Op::concat;
    if (!is_found(n.inputs[0]) && !(any_operand && std::ranges::any_of(n.inputs, is_found))) continue;
    for (const ValueId v : n.outputs) {
      if (v != kNoValue) found[static_cast<std::size_t>(v)] = true;
    }
  }
  return found;
}

bool reads_cache(Builder& b, const Node& n, std::int64_t slots, const std::vector<bool>& cache) {
  if (n.op != Op::attention || n.inputs.size() < 4 || n.inputs[3] == kNoValue || n.integer(AttrKey::causal) != 0)
    return false;
  if (!cache[static_cast<std::size_t>(n.inputs[1])] || !cache[static_cast<std::size_t>(n.inputs[2])]) return false;
  return b.size(n.inputs[1], -2).is(slots) && b.size(n.inputs[2], -2).is(slots) && b.size(n.inputs[3], -1).is(slots);
}

}  // namespace

std::size_t read_filled_slots(Builder& b, ValueId filled, std::size_t added_count, std::int64_t slots) {
  if (slots <= llm::kSlotBlock) return 0;
  const std::vector<bool> cache = caches(b.function());
  std::vector<Node> nodes = std::exchange(b.function().nodes, {});
  if (std::ranges::none_of(nodes, [&](const Node& n) { return reads_cache(b, n, slots, cache); })) {
    b.function().nodes = std::move(nodes);
    return 0;
  }
  std::size_t changed_count = 0;
  Dim filled_part = slots;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i == added_count) {
      const Dim symbol = b.pool().new_symbol("filled", 1, (slots + llm::kSlotBlock - 1) / llm::kSlotBlock);
      const ValueId blocks =
          b.expr("floordiv(f + (c - 1), c)", {{"f", filled}, {"c", static_cast<double>(llm::kSlotBlock)}}, DType::i64);
      b.add_all(Op::item, {blocks}, {attr(AttrKey::symbols, Dims{symbol})});
      filled_part = b.pool().min(b.pool().mul(symbol, llm::kSlotBlock), slots);
    }
    if (reads_cache(b, nodes[i], slots, cache)) {
      for (const auto& [operand, axis] : {std::pair{1, -2}, {2, -2}, {3, -1}}) {
        ValueId& v = nodes[i].inputs[static_cast<std::size_t>(operand)];
        v = b.slice(v, axis, 0, filled_part);
      }
      ++changed_count;
    }
    b.function().nodes.push_back(std::move(nodes[i]));
  }
  return changed_count;
}

}  // namespace tern
