#include "exporter/rewrite.h"

#include <algorithm>

#include "schema/def_use.h"

namespace tern {

ValueId value_of_state(const Program& program, Function& f, std::uint32_t state) {
  for (const FunctionInput& input : f.inputs) {
    if (input.kind == FunctionInput::Kind::state && input.state == state) return input.value;
  }
  const State& s = program.states[state];
  f.values.push_back({s.type, s.name});
  const auto v = static_cast<ValueId>(f.values.size() - 1);
  f.inputs.push_back({FunctionInput::Kind::state, v, state, s.name, {}});
  return v;
}

std::vector<std::int64_t> row_major(const Dims& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i].value();
  return strides;
}

void use_instead(Function& f, ValueId old_value, ValueId v) {
  use_instead(f, {{old_value, v}});
}

void use_instead(Function& f, const std::map<ValueId, ValueId>& instead) {
  const auto replace = [&](ValueId& v) {
    if (const auto found = instead.find(v); found != instead.end()) v = found->second;
  };
  for (Node& n : f.nodes) std::ranges::for_each(n.inputs, replace);
  for (FunctionOutput& o : f.outputs) replace(o.value);
  for (WriteBack& w : f.writebacks) replace(w.value);
}

void move_up(Function& f, std::size_t first, std::int64_t min_index) {
  const DefUse def_use(f);
  std::int64_t last = min_index;
  for (std::size_t i = first; i < f.nodes.size(); ++i) {
    for (const ValueId v : f.nodes[i].inputs) {
      const std::int64_t p = def_use.producer(v);
      if (p < static_cast<std::int64_t>(first)) last = std::max(last, p);
    }
  }
  const auto begin = f.nodes.begin();
  std::rotate(begin + last + 1, begin + static_cast<std::ptrdiff_t>(first), f.nodes.end());
}

}  // namespace tern
