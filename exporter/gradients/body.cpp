#include "exporter/gradients/body.h"

#include <algorithm>
#include <functional>
#include <set>

#include "exporter/gradients/differentiate.h"
#include "exporter/rewrite.h"
#include "schema/op_record.h"

namespace tern {
namespace {

bool is_assertion(Op op) {
  return op == Op::assert_dim || op == Op::assert_true;
}

/// True if a node of the functions, or of functions run by them, has the property. Visits each function once.
bool any_node(const Program& program, std::vector<std::uint32_t> functions,
              const std::function<bool(const Node&)>& predicate) {
  std::set<std::uint32_t> visited(functions.begin(), functions.end());
  while (!functions.empty()) {
    const std::uint32_t function = functions.back();
    functions.pop_back();
    for (const Node& n : program.functions[function].nodes) {
      if (predicate(n)) return true;
      for (std::uint32_t f : n.functions) {
        if (visited.insert(f).second) functions.push_back(f);
      }
    }
  }
  return false;
}

/// Functions run by a function's nodes.
std::vector<std::uint32_t> functions_of(const Function& function) {
  std::set<std::uint32_t> callees;
  for (const Node& n : function.nodes) callees.insert(n.functions.begin(), n.functions.end());
  return {callees.begin(), callees.end()};
}

}  // namespace

std::uint32_t new_function(Program& program, const std::string& name) {
  program.functions.emplace_back();
  program.functions.back().name = name;
  return static_cast<std::uint32_t>(program.functions.size() - 1);
}

ValueId new_input(Builder& b, const TensorType& type, const std::string& name) {
  const ValueId v = b.add_value(type, name);
  FunctionInput input;
  input.value = v;
  input.name = name;
  b.function().inputs.push_back(std::move(input));
  return v;
}

void new_output(Builder& b, ValueId value) {
  FunctionOutput output;
  output.value = value;
  b.function().outputs.push_back(std::move(output));
}

std::vector<TensorType> input_types(const Program& program, std::uint32_t function) {
  const Function& f = program.functions[function];
  std::vector<TensorType> types;
  for (const FunctionInput& input : f.inputs) {
    if (input.kind == FunctionInput::Kind::user) types.push_back(f.values[static_cast<std::size_t>(input.value)].type);
  }
  return types;
}

std::vector<TensorType> output_types(const Program& program, std::uint32_t function) {
  const Function& f = program.functions[function];
  std::vector<TensorType> types;
  for (const FunctionOutput& output : f.outputs) types.push_back(f.values[static_cast<std::size_t>(output.value)].type);
  return types;
}

ValueId input_value(const Program& program, std::uint32_t function, std::size_t input) {
  for (const FunctionInput& function_input : program.functions[function].inputs) {
    if (function_input.kind == FunctionInput::Kind::user && input-- == 0) return function_input.value;
  }
  return kNoValue;
}

AugmentedBody keep_random(GradientCall& c, std::uint32_t body) {
  Program& program = c.b.program();
  const auto cached = c.backward.bodies.find(body);
  if (cached != c.backward.bodies.end()) return cached->second;
  const auto binds = [](const Node& n) { return n.op != Op::cond && has_trait(n.op, Trait::data_sized); };
  const auto random = [](const Node& n) { return has_trait(n.op, Trait::random); };
  const auto symbols = [](const Node& n) { return n.op == Op::cond && n.has(AttrKey::symbols); };
  if (any_node(program, {body}, [&](const Node& n) { return binds(n) || symbols(n); })) {
    c.refuse("a body computes sizes at run time; its backward function would compute them twice");
  }
  if (any_node(program, functions_of(program.functions[body]), random)) {
    c.refuse("nested control flow draws random numbers");
  }
  AugmentedBody saved;
  saved.function = body;
  saved.outputs = program.functions[body].outputs.size();
  const std::vector<Node>& nodes = program.functions[body].nodes;
  if (std::ranges::none_of(nodes, random)) return c.backward.bodies[body] = saved;
  Function copy = program.functions[body];
  for (const Node& n : copy.nodes) {
    if (!random(n)) continue;
    FunctionOutput output;
    output.value = n.outputs.at(0);
    saved.saved_types.push_back(copy.values[static_cast<std::size_t>(output.value)].type);
    copy.outputs.push_back(std::move(output));
  }
  program.functions.push_back(std::move(copy));
  saved.function = static_cast<std::uint32_t>(program.functions.size() - 1);
  return c.backward.bodies[body] = saved;
}

BackwardBody::BackwardBody(Builder& b, const AugmentedBody& body, const std::vector<ValueId>& inputs,
                           const std::vector<ValueId>& saved)
    : b_(b), inputs_(inputs) {
  const Function source = b.program().functions[body.function];  // a copy: adding values moves functions' lists
  std::vector<ValueId> new_values(source.values.size(), kNoValue);
  std::size_t next = 0;
  for (const FunctionInput& input : source.inputs) {
    if (input.value == kNoValue) continue;
    new_values[static_cast<std::size_t>(input.value)] = input.kind == FunctionInput::Kind::state
                                                            ? value_of_state(b.program(), b.function(), input.state)
                                                            : inputs.at(next++);
  }
  std::size_t random = 0;
  for (const Node& n : source.nodes) {
    if (is_assertion(n.op)) continue;
    if (has_trait(n.op, Trait::random)) {
      new_values[static_cast<std::size_t>(n.outputs.at(0))] = saved.at(random++);
      continue;
    }
    Node copy = n;
    for (ValueId& v : copy.inputs) v = v == kNoValue ? v : new_values[static_cast<std::size_t>(v)];
    for (ValueId& v : copy.outputs) {
      if (v == kNoValue) continue;
      const Value& value = source.values[static_cast<std::size_t>(v)];
      v = new_values[static_cast<std::size_t>(v)] = b.add_value(value.type, value.name);
    }
    b.function().nodes.push_back(std::move(copy));
  }
  for (std::size_t i = 0; i < body.outputs; ++i) {
    outputs_.push_back(new_values[static_cast<std::size_t>(source.outputs[i].value)]);
  }
}

std::vector<ValueId> BackwardBody::gradients(const std::vector<ValueId>& seeds,
                                             const std::vector<std::size_t>& input_indices, BackwardFunctions& known) {
  std::vector<GradientSeed> arriving;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    if (seeds[i] != kNoValue) arriving.push_back({outputs_.at(i), seeds[i]});
  }
  std::vector<ValueId> wrt;
  for (std::size_t i : input_indices) wrt.push_back(inputs_.at(i));
  std::vector<ValueId> result = differentiate(b_, arriving, wrt, known);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] == kNoValue) result[i] = zeros_like(b_, wrt[i]);
  }
  return result;
}

}  // namespace tern
