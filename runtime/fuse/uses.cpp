#include "runtime/fuse/uses.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "schema/op_record.h"

namespace tern {
namespace {

constexpr std::uint32_t kFar = 32;  // most nodes over which fusion may extend a value's lifetime

}  // namespace

std::vector<ValueId> distinct(const std::vector<ValueId>& values) {
  std::vector<ValueId> d;
  constexpr std::size_t kMany = 32;  // faster with a set above this count
  std::unordered_set<ValueId> known;
  for (ValueId v : values) {
    if (v == kNoValue) continue;
    const bool is_new = values.size() < kMany ? std::ranges::find(d, v) == d.end() : known.insert(v).second;
    if (is_new) d.push_back(v);
  }
  return d;
}

FunctionInFusion::FunctionInFusion(Function exported)
    : f(std::move(exported)), is_removed(f.nodes.size()), value_uses_(f.values.size()) {
  std::uint32_t section = 0;
  for (std::uint32_t i = 0; i < f.nodes.size(); ++i) {
    const Node& n = f.nodes[i];
    for (ValueId v : distinct(n.inputs)) ++value_use(v).readers;
    for (ValueId v : n.outputs) {
      if (v != kNoValue) value_use(v).producer = static_cast<std::int32_t>(i);
    }
    positions.push_back({i, i, 0});
    numbers.push_back(i);
    sections_.push_back(section);
    section += n.dims(AttrKey::symbols).empty() ? 0 : 1;
  }
  for (const FunctionOutput& o : f.outputs) {
    if (o.value != kNoValue) value_use(o.value).pinned = true;
  }
  std::unordered_set<std::uint32_t> states, inputs;  // targets written back
  for (const WriteBack& w : f.writebacks) {
    value_use(w.value).pinned = value_use(w.value).written_back = true;
    (w.target == WriteBack::Target::state ? states : inputs).insert(w.index);
  }
  for (std::uint32_t i = 0; i < f.inputs.size(); ++i) {
    const FunctionInput& in = f.inputs[i];
    const bool state = in.kind == FunctionInput::Kind::state && states.contains(in.state);
    if ((state || inputs.contains(i)) && in.value != kNoValue) value_use(in.value).written = true;
  }
}

FusedFunction FunctionInFusion::finish() {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < f.nodes.size(); ++i) {
    if (!is_removed[i]) order.push_back(i);
  }
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return positions[i]; });
  FusedFunction result;
  std::vector<Node> nodes;
  nodes.reserve(order.size());
  for (std::uint32_t i : order) {
    nodes.push_back(std::move(f.nodes[i]));
    result.numbers.push_back(numbers[i]);
  }
  f.nodes = std::move(nodes);
  result.function = std::move(f);
  return result;
}

bool FunctionInFusion::one_element(ValueId v) const {
  return std::ranges::all_of(type(v).shape, [](Dim d) { return d.is(1); });
}

bool FunctionInFusion::has_pairs(const Node& n) const {
  const auto pairs = [&](ValueId v) { return v != kNoValue && type(v).dtype == DType::f4_e2m1; };
  return std::ranges::any_of(n.inputs, pairs) || std::ranges::any_of(n.outputs, pairs);
}

std::int32_t FunctionInFusion::only_producer(ValueId v, std::uint32_t reader) {
  if (v == kNoValue) return -1;
  const ValueUse& u = value_use(v);
  if (u.producer < 0 || u.readers != 1 || u.pinned) return -1;
  return sections_[static_cast<std::size_t>(u.producer)] == sections_[reader] ? u.producer : -1;
}

std::int32_t FunctionInFusion::producer_in_section(ValueId v, std::uint32_t reader) {
  const std::int32_t producer = v == kNoValue ? -1 : value_use(v).producer;
  if (producer < 0) return -1;
  return sections_[static_cast<std::size_t>(producer)] == sections_[reader] ? producer : -1;
}

NodePosition FunctionInFusion::operands_position(const std::vector<ValueId>& operands) {
  NodePosition last{0, 0, 0};
  for (ValueId v : operands) {
    if (v != kNoValue && value_use(v).producer >= 0)
      last = std::max(last, positions[static_cast<std::size_t>(value_use(v).producer)]);
  }
  return last;
}

bool FunctionInFusion::may_move(std::uint32_t i, NodePosition position) {
  if (position <= positions[i]) return true;
  const Node& n = f.nodes[i];
  int large = 0;
  for (ValueId v : distinct(n.inputs)) {
    if (value_use(v).written) return false;
    large += value_use(v).producer >= 0 && type(v).shape == type(n.outputs[0]).shape ? 1 : 0;
  }
  const bool far = position[0] - positions[i][0] > kFar;
  return !far || (n.op == Op::pointwise && large <= 1);
}

void FunctionInFusion::merge_nodes(std::uint32_t i, const std::vector<std::uint32_t>& merged,
                                   std::vector<ValueId> operands) {
  for (ValueId v : distinct(f.nodes[i].inputs)) --value_use(v).readers;
  for (std::uint32_t p : merged) {
    for (ValueId v : distinct(f.nodes[p].inputs)) --value_use(v).readers;
    is_removed[p] = true;
  }
  f.nodes[i].inputs = std::move(operands);
  for (ValueId v : distinct(f.nodes[i].inputs)) ++value_use(v).readers;
}

void FunctionInFusion::remove_unread(ValueId v) {
  std::vector<ValueId> unread{v};
  while (!unread.empty()) {
    const std::int32_t producer = value_use(unread.back()).producer;
    unread.pop_back();
    if (producer < 0 || is_removed[static_cast<std::size_t>(producer)]) continue;
    const Node& n = f.nodes[static_cast<std::size_t>(producer)];
    const bool is_read = std::ranges::any_of(
        n.outputs, [&](ValueId o) { return o != kNoValue && (value_use(o).readers > 0 || value_use(o).pinned); });
    if (is_read || has_trait(n.op, Trait::effect) || has_trait(n.op, Trait::random) ||
        has_trait(n.op, Trait::data_sized) || has_trait(n.op, Trait::control))
      continue;
    is_removed[static_cast<std::size_t>(producer)] = true;
    for (ValueId o : distinct(n.inputs)) {
      --value_use(o).readers;
      unread.push_back(o);
    }
  }
}

ValueId FunctionInFusion::add_result(std::uint32_t i, TensorType type) {
  const auto result = static_cast<ValueId>(f.values.size());
  f.values.push_back({std::move(type), f.values[static_cast<std::size_t>(f.nodes[i].outputs[0])].name});
  value_uses_.push_back({static_cast<std::int32_t>(i), 0, false, false, false});
  f.nodes[i].outputs.push_back(result);
  return result;
}

ValueId FunctionInFusion::reshape(ValueId v, const Dims& shape, NodePosition position, std::uint32_t near) {
  Value value{type(v), f.values[static_cast<std::size_t>(v)].name};
  value.type.shape = shape;
  const auto result = static_cast<ValueId>(f.values.size());
  f.values.push_back(std::move(value));
  value_uses_.emplace_back();
  add_reshape(v, result, position, near);
  return result;
}

void FunctionInFusion::add_reshape(ValueId from, ValueId to, NodePosition position, std::uint32_t near) {
  value_use(to).producer = static_cast<std::int32_t>(f.nodes.size());
  ++value_use(from).readers;
  Node n;
  n.op = Op::reshape;
  n.inputs = {from};
  n.outputs = {to};
  n.set(AttrKey::sizes, type(to).shape);
  n.origin = f.nodes[near].origin;
  f.nodes.push_back(std::move(n));
  is_removed.push_back(false);
  positions.push_back(position);
  numbers.push_back(numbers[near]);
  sections_.push_back(sections_[near]);
}

void FunctionInFusion::give_shape(std::uint32_t i, const Dims& shape) {
  const ValueId output = f.nodes[i].outputs[0];
  Value value{type(output), f.values[static_cast<std::size_t>(output)].name};
  value.type.shape = shape;
  const auto inner = static_cast<ValueId>(f.values.size());
  f.values.push_back(std::move(value));
  value_uses_.push_back({static_cast<std::int32_t>(i), 0, false, false, false});
  f.nodes[i].outputs[0] = inner;
  add_reshape(inner, output, {positions[i][0], positions[i][1], positions[i][2] + 1}, i);
}

}  // namespace tern
