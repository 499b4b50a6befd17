#include "exporter/passes/constant_part.h"

#include <tern/error.h>
#include <tern/tern.h>

#include <algorithm>
#include <map>
#include <set>

#include "schema/op_record.h"

namespace tern {
namespace {

bool is_fixed(const TensorType& t) {
  return std::all_of(t.shape.begin(), t.shape.end(), [](Dim d) { return d.is_const(); });
}

}  // namespace

bool is_plain_op(const Node& n) {
  return has_trait(n.op, Trait::plain);
}

ConstantPart::ConstantPart(const Program& program, const Function& function, bool (*takes)(const Node&))
    : program_(program),
      function_(function),
      uses_(function),
      constant_(function.values.size()),
      state_(function.values.size(), -1) {
  for (const FunctionInput& in : function.inputs) {
    if (in.kind != FunctionInput::Kind::state || program.states[in.state].is_mutable) continue;
    constant_[static_cast<std::size_t>(in.value)] = true;
    state_[static_cast<std::size_t>(in.value)] = in.state;
  }
  for (const Node& n : function.nodes) {
    bool all = takes(n);
    for (ValueId v : n.inputs) all = all && (v == kNoValue || constant(v));
    for (ValueId v : n.outputs)
      all = all && (v == kNoValue || is_fixed(function.values[static_cast<std::size_t>(v)].type));
    for (ValueId v : n.outputs) {
      if (v != kNoValue) constant_[static_cast<std::size_t>(v)] = all;
    }
  }
}

std::vector<ValueId> ConstantPart::results() const {
  std::set<ValueId> found;
  const auto read = [&](ValueId v) {
    if (constant(v) && producer(v) >= 0) found.insert(v);
  };
  for (const Node& n : function_.nodes) {
    const bool inside = std::any_of(n.outputs.begin(), n.outputs.end(), [&](ValueId v) { return constant(v); });
    if (inside) continue;
    for (ValueId v : n.inputs) read(v);
  }
  for (const FunctionOutput& o : function_.outputs) read(o.value);
  for (const WriteBack& w : function_.writebacks) read(w.value);
  return {found.begin(), found.end()};
}

ConstantSlice ConstantPart::slice(ValueId v) const {
  std::set<std::size_t> nodes;
  std::set<std::uint32_t> states;
  for (std::vector<ValueId> open = {v}; !open.empty();) {
    const ValueId x = open.back();
    open.pop_back();
    const std::int64_t at = producer(x);
    if (at < 0) {
      states.insert(static_cast<std::uint32_t>(state_[static_cast<std::size_t>(x)]));
    } else if (nodes.insert(static_cast<std::size_t>(at)).second) {
      if (nodes.size() > kMaxNodes) return {};
      for (ValueId in : function_.nodes[static_cast<std::size_t>(at)].inputs) {
        if (in != kNoValue) open.push_back(in);
      }
    }
  }
  return {{nodes.begin(), nodes.end()}, {states.begin(), states.end()}};
}

std::uint64_t ConstantPart::work(const ConstantSlice& slice) const {
  constexpr std::uint64_t kMany = std::uint64_t{1} << 62;
  // A program of the slice is work, too.
  std::uint64_t sum = 4096 + 16 * (program_.pool.nodes().size() + program_.storages.size());
  for (std::size_t i : slice.nodes) {
    const Node& n = function_.nodes[i];
    const auto add = [&](ValueId v) {
      std::uint64_t bytes = 0;
      return v == kNoValue || (byte_size(function_.values[static_cast<std::size_t>(v)].type, &bytes) &&
                               !__builtin_add_overflow(sum, bytes, &sum) && sum <= kMany);
    };
    for (ValueId v : n.outputs) {
      if (!add(v)) return kMany;
    }
    if (is_view(n.op)) continue;
    for (ValueId v : n.inputs) {  // a small result may need much to be read
      if (!add(v)) return kMany;
    }
  }
  return sum;
}

bool ConstantPart::evaluate(ValueId v, const ConstantSlice& slice,
                            const std::function<void(const Tensor&)>& use) const {
  auto part = std::make_shared<Program>();
  part->pool = program_.pool;
  part->storages = program_.storages;
  part->source = program_.source;
  part->metadata = program_.metadata;
  Function& f = part->functions.emplace_back();
  f.name = "forward";
  f.entry = true;
  std::map<ValueId, ValueId> numbers;
  const auto number = [&](ValueId old) {
    if (old == kNoValue) return old;
    const auto [it, added] = numbers.try_emplace(old, static_cast<ValueId>(f.values.size()));
    if (added) f.values.push_back({function_.values[static_cast<std::size_t>(old)].type, {}});
    return it->second;
  };
  for (const FunctionInput& in : function_.inputs) {
    if (in.kind != FunctionInput::Kind::state ||
        !std::binary_search(slice.states.begin(), slice.states.end(), in.state))
      continue;
    State state = program_.states[in.state];
    state.tied = -1;
    f.inputs.push_back({FunctionInput::Kind::state,
                        number(in.value),
                        static_cast<std::uint32_t>(part->states.size()),
                        state.name,
                        {}});
    part->states.push_back(std::move(state));
  }
  for (std::size_t i : slice.nodes) {
    Node n = function_.nodes[i];
    n.origin = -1;
    n.annotations.clear();
    for (ValueId& in : n.inputs) in = number(in);
    for (ValueId& out : n.outputs) out = number(out);
    f.nodes.push_back(std::move(n));
  }
  f.outputs.push_back({FunctionOutput::Kind::tensor, number(v), "value"});
  PrepareOptions options;
  options.reproducible = true;  // an archive is the same whatever processor made it
  try {
    Session session(Model(std::move(part)).prepare(options));
    use(session.run({}).at(0));
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace tern
