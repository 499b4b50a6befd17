#include "runtime/plan/draft.h"

#include <algorithm>

namespace tern {
namespace {

constexpr std::uint32_t kForever = ~0u;

std::vector<Placed> placed_before(const PlanRequest& request, std::size_t count) {
  std::vector<Placed> values(count);
  for (const SectionPlan* p = request.key.previous.get(); p != nullptr; p = p->key.previous.get()) {
    for (const auto& [v, placed] : p->placed) values[static_cast<std::size_t>(v)] = placed;
  }
  return values;
}

}  // namespace

Draft::Draft(PlanRequest asked)
    : request(std::move(asked)),
      prepared(request.prepared),
      program(*prepared.program),
      f(prepared.functions[request.key.function]),
      facts(prepared.facts[request.key.function]),
      section(facts.sections[request.key.section]),
      concrete(program, request.expressions),
      values(placed_before(request, f.values.size())),
      root_of(f.values.size(), kNoRoot),
      last_use(facts.last_use) {
  plan.key = request.key;
}

TensorView Draft::view(ValueId v) const {
  TensorView result = concrete.view(type(v));
  if (!rounded.empty() && rounded[static_cast<std::size_t>(v)]) result.dtype = DType::bf16;
  return result;
}

const std::byte* Draft::constant_bytes(ValueId v) const {
  if (v == kNoValue) return nullptr;
  const Location& location = values[static_cast<std::size_t>(v)].location;
  const bool constant = location.kind == Location::Kind::state && request.constants[location.index] != nullptr;
  return constant ? request.constants[location.index] + location.offset : nullptr;
}

std::uint64_t Draft::bytes(ValueId v, const TensorView& view) const {
  TensorType stored = type(v);
  stored.dtype = view.dtype;
  return view_bytes(stored, view);
}

MemoryBlock* Draft::block_of(RootId root) {
  const std::int32_t block = root == kNoRoot ? -1 : root_at(root).block;
  return block < 0 ? nullptr : &blocks[static_cast<std::size_t>(block)];
}

RootId Draft::new_root(Root root) {
  roots.push_back(root);
  return static_cast<RootId>(roots.size() - 1);
}

RootId Draft::new_block(std::uint64_t bytes) {
  const auto now = static_cast<std::uint32_t>(plan.steps.size());
  blocks.push_back({bytes, now, now});
  Root root;
  root.block = static_cast<std::int32_t>(blocks.size() - 1);
  root.location = {Location::Kind::arena, request.key.section, 0};
  root.bytes = bytes;
  return new_root(root);
}

void Draft::place_value(ValueId v, const TensorView& view, std::int64_t offset, RootId id) {
  Root& r = root_at(id);
  Location location = r.location;
  location.offset = offset;
  placed(v) = {view, location};
  root(v) = id;
  const std::uint32_t last = last_use[static_cast<std::size_t>(v)];
  r.last_use = std::max(r.last_use, last);
  if (last == kUsedToTheEnd || last > section.end) extend_lifetime(id);
  placed_values.push_back(v);
}

void Draft::extend_lifetime(RootId root) {
  if (MemoryBlock* block = block_of(root)) block->last = kForever;
}

void Draft::add_arg(const PlannedOperand& operand) {
  plan.args.push_back(operand.placed.view);
  plan.locations.push_back(operand.placed.location);
  arg_root.push_back(operand.root);
  if (MemoryBlock* block = block_of(operand.root))
    block->last = std::max(block->last, static_cast<std::uint32_t>(plan.steps.size()));
}

PlanStep& Draft::add_step(PlanStep::Kind kind, std::uint32_t node, const std::vector<PlannedOperand>& inputs,
                          const std::vector<PlannedOperand>& outputs) {
  const auto args = static_cast<std::uint32_t>(plan.args.size());
  for (const PlannedOperand& o : inputs) add_arg(o);
  for (const PlannedOperand& o : outputs) add_arg(o);
  PlanStep& s = plan.steps.emplace_back();
  s.kind = kind;
  s.node = node;
  if (!facts.numbers.empty()) s.number = facts.numbers[node];
  s.args = args;
  s.inputs = static_cast<std::uint32_t>(inputs.size());
  s.outputs = static_cast<std::uint32_t>(outputs.size());
  return s;
}

void Draft::add_copy(std::uint32_t node, ValueId v, const PlannedOperand& from, const PlannedOperand& to) {
  const auto whole = [&](const PlannedOperand& o) {
    return PlannedOperand{{view_to_copy(type(v), o.placed.view), o.placed.location}, o.root};
  };
  add_step(PlanStep::Kind::copy, node, {whole(from)}, {whole(to)});
}

PlannedOperand Draft::copied(ValueId v, std::uint32_t node, const TensorView& view) {
  const RootId block = new_block(bytes(v, view));
  const PlannedOperand to{{view, root_at(block).location}, block};
  add_copy(node, v, operand(v), to);
  return to;
}

PlannedOperand Draft::contiguous(ValueId v, std::uint32_t node, bool always) {
  const PlannedOperand from = operand(v);
  if (!always && from.placed.view.contiguous()) return from;
  TensorView view = from.placed.view;
  make_contiguous(view);
  return copied(v, node, view);
}

TensorView Draft::state_view(const State& s) const {
  TensorView view = concrete.view(s.type);
  if (!s.type.packed() && view.numel() != 0) std::copy(s.strides.begin(), s.strides.end(), view.strides.begin());
  return view;
}

}  // namespace tern
