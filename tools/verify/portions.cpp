#include "tools/verify/portions.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "schema/op_record.h"

namespace tern {
namespace {

const TensorType& type_of(const Function& f, ValueId v) {
  return f.values[static_cast<std::size_t>(v)].type;
}

std::uint64_t max_bytes(const TensorType& type, std::span<const CallSizes> calls) {
  std::uint64_t max_size = 0;
  for (const CallSizes& c : calls) max_size = std::max(max_size, bytes_of(type, c).value_or(0));
  return max_size;
}

}  // namespace

std::vector<ValueId> measured_results(const Function& f, const Node& node) {
  std::vector<ValueId> results;
  if (is_view(node.op)) return results;
  for (ValueId v : node.outputs) {
    if (v == kNoValue) continue;
    const TensorType& t = type_of(f, v);
    if (!t.quantized() && (is_floating(t.dtype) || is_complex(t.dtype))) results.push_back(v);
  }
  return results;
}

std::vector<ValueId> outer_operands(const WeightValues& weights, const Node& node) {
  std::vector<ValueId> operands;
  std::ranges::copy_if(node.inputs, std::back_inserter(operands),
                       [&](ValueId v) { return v != kNoValue && !weights.contains(v); });
  return operands;
}

bool runs_alone(const Function& f, const WeightValues& weights, const Node& node) {
  const std::vector<ValueId> operands = outer_operands(weights, node);
  return std::ranges::all_of(operands, [&](ValueId v) { return !type_of(f, v).quantized(); });
}

std::vector<Portion> portions_of(const Function& f, std::span<const CallSizes> calls, std::uint64_t bytes,
                                 const std::function<bool(std::uint32_t)>& measures) {
  const WeightValues weights(f);
  std::vector<Portion> portions;
  std::set<ValueId> portion_values;
  std::uint64_t portion_bytes = 0;
  for (std::uint32_t i = 0; i < f.nodes.size(); ++i) {
    if (measures && !measures(i)) continue;
    const std::vector<ValueId> results = measured_results(f, f.nodes[i]);
    if (results.empty()) continue;
    std::vector<ValueId> values = results;
    if (runs_alone(f, weights, f.nodes[i]))
      std::ranges::copy(outer_operands(weights, f.nodes[i]), std::back_inserter(values));
    std::uint64_t added_bytes = 0;
    for (ValueId v : values) added_bytes += portion_values.contains(v) ? 0 : max_bytes(type_of(f, v), calls);
    if (portions.empty() || portion_bytes + added_bytes > bytes) {
      portions.emplace_back();
      portion_values.clear();
      portion_bytes = 0;
      for (ValueId v : values) portion_bytes += max_bytes(type_of(f, v), calls);
    } else {
      portion_bytes += added_bytes;
    }
    portions.back().nodes.push_back(i);
    for (ValueId v : values) {
      if (portion_values.insert(v).second) portions.back().values.push_back(v);
    }
  }
  return portions;
}

}  // namespace tern
