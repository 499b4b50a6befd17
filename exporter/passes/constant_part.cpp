#include "exporter/passes/constant_part.h"

#include <tern/error.h>
#include <tern/tern.h>

#include <algorithm>
#include <map>
#include <set>

#include "schema/op_record.h"

namespace tern {
namespace {

bool has_constant_shape(const TensorType& t) {
  return std::all_of(t.shape.begin(), t.shape.end(), [](Dim d) { return d.is_const(); });
}

}  // namespace

bool is_plain_op(const Node& n) {
  return has_trait(n.op, Trait::plain);
}

ConstantPart::ConstantPart(const Program& program, const Function& function, bool (*accepts)(const Node&))
    : program_(program),
      function_(function),
      def_use_(function),
      constant_(function.values.size()),
      state_(function.values.size(), -1) {
  for (const FunctionInput& input : function.inputs) {
    if (input.kind != FunctionInput::Kind::state || program.states[input.state].is_mutable) continue;
    constant_[static_cast<std::size_t>(input.value)] = true;
    state_[static_cast<std::size_t>(input.value)] = input.state;
  }
  for (const Node& n : function.nodes) {
    bool is_constant = accepts(n);
    for (ValueId v : n.inputs) is_constant = is_constant && (v == kNoValue || constant(v));
    for (ValueId v : n.outputs)
      is_constant =
          is_constant && (v == kNoValue || has_constant_shape(function.values[static_cast<std::size_t>(v)].type));
    for (ValueId v : n.outputs) {
      if (v != kNoValue) constant_[static_cast<std::size_t>(v)] = is_constant;
    }
  }
}

std::vector<ValueId> ConstantPart::results() const {
  std::set<ValueId> found;
  const auto add_if_constant = [&](ValueId v) {
    if (constant(v) && producer(v) >= 0) found.insert(v);
  };
  for (const Node& n : function_.nodes) {
    const bool is_in_part = std::any_of(n.outputs.begin(), n.outputs.end(), [&](ValueId v) { return constant(v); });
    if (is_in_part) continue;
    for (ValueId v : n.inputs) add_if_constant(v);
  }
  for (const FunctionOutput& o : function_.outputs) add_if_constant(o.value);
  for (const WriteBack& w : function_.writebacks) add_if_constant(w.value);
  return {found.begin(), found.end()};
}

ConstantSlice ConstantPart::slice(ValueId v) const {
  std::set<std::size_t> nodes;
  std::set<std::uint32_t> states;
  for (std::vector<ValueId> pending = {v}; !pending.empty();) {
    const ValueId x = pending.back();
    pending.pop_back();
    const std::int64_t producer_index = producer(x);
    if (producer_index < 0) {
      states.insert(static_cast<std::uint32_t>(state_[static_cast<std::size_t>(x)]));
    } else if (nodes.insert(static_cast<std::size_t>(producer_index)).second) {
      if (nodes.size() > kMaxNodes) return {};
      for (ValueId operand : function_.nodes[static_cast<std::size_t>(producer_index)].inputs) {
        if (operand != kNoValue) pending.push_back(operand);
      }
    }
  }
  return {{nodes.begin(), nodes.end()}, {states.begin(), states.end()}};
}

std::uint64_t ConstantPart::cost(const ConstantSlice& slice) const {
  constexpr std::uint64_t kMaxWork = std::uint64_t{1} << 62;
  // Fixed cost of building and preparing a program for the slice.
  std::uint64_t sum = 4096 + 16 * (program_.pool.nodes().size() + program_.storages.size());
  for (std::size_t i : slice.nodes) {
    const Node& n = function_.nodes[i];
    const auto add = [&](ValueId v) {
      std::uint64_t bytes = 0;
      return v == kNoValue || (byte_size(function_.values[static_cast<std::size_t>(v)].type, &bytes) &&
                               !__builtin_add_overflow(sum, bytes, &sum) && sum <= kMaxWork);
    };
    for (ValueId v : n.outputs) {
      if (!add(v)) return kMaxWork;
    }
    if (is_view(n.op)) continue;
    for (ValueId v : n.inputs) {  // a small result may need much to be read
      if (!add(v)) return kMaxWork;
    }
  }
  return sum;
}

bool ConstantPart::evaluate(ValueId v, const ConstantSlice& slice,
                            const std::function<void(const Tensor&)>& receive) const {
  auto program = std::make_shared<Program>();
  program->pool = program_.pool;
  program->storages = program_.storages;
  program->source = program_.source;
  program->metadata = program_.metadata;
  Function& f = program->functions.emplace_back();
  f.name = "forward";
  f.entry = true;
  std::map<ValueId, ValueId> new_ids;
  const auto new_id = [&](ValueId old_id) {
    if (old_id == kNoValue) return old_id;
    const auto [it, added] = new_ids.try_emplace(old_id, static_cast<ValueId>(f.values.size()));
    if (added) f.values.push_back({function_.values[static_cast<std::size_t>(old_id)].type, {}});
    return it->second;
  };
  for (const FunctionInput& input : function_.inputs) {
    if (input.kind != FunctionInput::Kind::state ||
        !std::binary_search(slice.states.begin(), slice.states.end(), input.state))
      continue;
    State state = program_.states[input.state];
    state.tied = -1;
    f.inputs.push_back({FunctionInput::Kind::state,
                        new_id(input.value),
                        static_cast<std::uint32_t>(program->states.size()),
                        state.name,
                        {}});
    program->states.push_back(std::move(state));
  }
  for (std::size_t i : slice.nodes) {
    Node n = function_.nodes[i];
    n.origin = -1;
    n.annotations.clear();
    for (ValueId& in : n.inputs) in = new_id(in);
    for (ValueId& out : n.outputs) out = new_id(out);
    f.nodes.push_back(std::move(n));
  }
  f.outputs.push_back({FunctionOutput::Kind::tensor, new_id(v), "value"});
  PrepareOptions options;
  options.reproducible = true;  // an archive is the same whatever processor made it
  try {
    Session session(Model(std::move(program)).prepare(options));
    receive(session.run({}).at(0));
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace tern
