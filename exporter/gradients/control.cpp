// Gradients of control flow. The backward function of a branch, or of a body run once, recomputes its values. A loop
// runs backwards over the initial values of each round, stacked by the forward loop.
#include "exporter/gradients/body.h"
#include "exporter/gradients/differentiate.h"
#include "exporter/gradients/rule.h"

namespace tern {
namespace {

bool is_number(const TensorType& t) {
  return is_floating(t.dtype) || is_complex(t.dtype);
}

/// Makes the node run `functions`, with results of `types` behind its own. Returns the added results.
std::vector<ValueId> run_instead(GradientCall& c, const std::vector<std::uint32_t>& functions,
                                 const std::vector<TensorType>& types) {
  std::vector<ValueId> new_results;
  for (const TensorType& t : types) new_results.push_back(c.b.add_value(t));
  Node& node = c.b.function().nodes[c.index];
  node.functions = functions;
  node.outputs.resize(c.output_count(), kNoValue);
  node.outputs.insert(node.outputs.end(), new_results.begin(), new_results.end());
  return new_results;
}

std::vector<std::size_t> wanted_from(GradientCall& c, std::size_t first, std::size_t count) {
  std::vector<std::size_t> operand_indices;
  for (std::size_t i = 0; i < count; ++i) {
    if (c.needs_gradient(first + i)) operand_indices.push_back(i);
  }
  return operand_indices;
}

/// Creates the body's backward function. Inputs: the operands, the gradients of results with a gradient, the kept
/// values. Results: the gradients of the wanted operands. Of the values in `all_kept`, the body's own start at `first`.
std::uint32_t backward_branch(GradientCall& c, const AugmentedBody& body,
                              const std::vector<std::size_t>& operand_indices, const std::vector<TensorType>& all_kept,
                              std::size_t first) {
  Program& program = c.b.program();
  std::vector<bool> arriving;
  for (std::size_t i = 0; i < body.outputs; ++i) arriving.push_back(c.grad(i) != kNoValue);
  const bool shared = all_kept.size() == body.saved_types.size();  // false: another branch has values in it
  const auto key = std::tuple(body.function, arriving, operand_indices);
  if (const auto cached = c.backward.functions.find(key); shared && cached != c.backward.functions.end())
    return cached->second;
  const std::uint32_t number = new_function(program, program.functions[body.function].name + ".gradient");
  if (shared) c.backward.functions.emplace(key, number);
  Builder b(program, number);
  std::vector<ValueId> inputs, seeds, saved;
  for (const TensorType& t : input_types(program, body.function)) inputs.push_back(new_input(b, t, "operand"));
  const std::vector<TensorType> results = output_types(program, body.function);
  for (std::size_t i = 0; i < body.outputs; ++i) {
    seeds.push_back(c.grad(i) == kNoValue ? kNoValue : new_input(b, results[i], "gradient"));
  }
  for (const TensorType& t : all_kept) saved.push_back(new_input(b, t, "kept"));
  const auto saved_begin = saved.begin() + static_cast<std::ptrdiff_t>(first);
  BackwardBody backward(b, body, inputs,
                        {saved_begin, saved_begin + static_cast<std::ptrdiff_t>(body.saved_types.size())});
  for (ValueId v : backward.gradients(seeds, operand_indices, c.backward)) new_output(b, v);
  return number;
}

/// Operands, gradients and saved values, in the order of backward_branch()'s inputs.
std::vector<ValueId> branch_operands(GradientCall& c, std::size_t first, const std::vector<ValueId>& saved) {
  std::vector<ValueId> operands(c.node.inputs.begin() + static_cast<std::ptrdiff_t>(first), c.node.inputs.end());
  for (std::size_t i = 0; i < c.output_count(); ++i) {
    if (c.grad(i) != kNoValue) operands.push_back(c.grad(i));
  }
  operands.insert(operands.end(), saved.begin(), saved.end());
  return operands;
}

/// Copies the branch and adds zeros for the other branch's kept values, before or behind its own.
std::uint32_t append_zero_outputs(Program& program, const AugmentedBody& body,
                                  const std::vector<TensorType>& extra_types, bool is_in_front) {
  if (extra_types.empty()) return body.function;
  Function copy = program.functions[body.function];
  program.functions.push_back(std::move(copy));
  const auto number = static_cast<std::uint32_t>(program.functions.size() - 1);
  Builder b(program, number);
  std::vector<FunctionOutput> zeros;
  for (const TensorType& t : extra_types) {
    FunctionOutput output;
    output.value = b.full(t.shape, 0, t.dtype);
    zeros.push_back(std::move(output));
  }
  std::vector<FunctionOutput>& outputs = b.function().outputs;
  outputs.insert(is_in_front ? outputs.begin() + static_cast<std::ptrdiff_t>(body.outputs) : outputs.end(),
                 zeros.begin(), zeros.end());
  return number;
}

void cond(GradientCall& c) {
  Program& program = c.b.program();
  const AugmentedBody then_body = keep_random(c, c.node.functions[0]), else_body = keep_random(c, c.node.functions[1]);
  std::vector<TensorType> types = then_body.saved_types;
  types.insert(types.end(), else_body.saved_types.begin(), else_body.saved_types.end());
  std::vector<ValueId> saved;
  if (!types.empty()) {
    saved = run_instead(c,
                        {append_zero_outputs(program, then_body, else_body.saved_types, false),
                         append_zero_outputs(program, else_body, then_body.saved_types, true)},
                        types);
  }
  const std::vector<std::size_t> operand_indices = wanted_from(c, 1, c.input_count() - 1);
  Node n;
  n.op = Op::cond;
  n.functions = {backward_branch(c, then_body, operand_indices, types, 0),
                 backward_branch(c, else_body, operand_indices, types, then_body.saved_types.size())};
  n.inputs = {c.operand(0)};
  const std::vector<ValueId> operands = branch_operands(c, 1, saved);
  n.inputs.insert(n.inputs.end(), operands.begin(), operands.end());
  const std::vector<ValueId> gradients = c.b.add(std::move(n));
  for (std::size_t i = 0; i < operand_indices.size(); ++i) c.add_gradient(1 + operand_indices[i], gradients[i]);
}

void call(GradientCall& c) {
  const AugmentedBody body = keep_random(c, c.node.functions[0]);
  std::vector<ValueId> saved;
  if (!body.saved_types.empty()) saved = run_instead(c, {body.function}, body.saved_types);
  const std::vector<std::size_t> operand_indices = wanted_from(c, 0, c.input_count());
  Node n;
  n.op = Op::call;
  n.functions = {backward_branch(c, body, operand_indices, body.saved_types, 0)};
  n.inputs = branch_operands(c, 0, saved);
  const std::vector<ValueId> gradients = c.b.add(std::move(n));
  for (std::size_t i = 0; i < operand_indices.size(); ++i) c.add_gradient(operand_indices[i], gradients[i]);
}

/// Loop over slices, with values carried from round to round: scan_loop, or map_loop without carried values.
class LoopGradient {
 public:
  explicit LoopGradient(GradientCall& c)
      : c_(c),
        b_(c.b),
        carried_(c.node.op == Op::scan_loop ? static_cast<std::size_t>(c.node.integer(AttrKey::carried)) : 0),
        mapped_(static_cast<std::size_t>(c.node.integer(AttrKey::mapped))),
        additional_(c.input_count() - carried_ - mapped_),
        body_(keep_random(c, c.node.functions[0])),
        types_(input_types(b_.program(), body_.function)),
        wanted_slices_(wanted_from(c, carried_, mapped_)),
        wanted_additional_(wanted_from(c, carried_ + mapped_, additional_)) {
    for (std::size_t i = 0; i < carried_; ++i) {
      if (is_number(types_[i])) flowing_.push_back(i);
    }
  }

  void add_loop_gradients() {
    const std::vector<ValueId> stacked = keep_rounds();
    Node n;
    n.op = Op::scan_loop;
    n.functions = {backward_body()};
    for (std::size_t i : flowing_) n.inputs.push_back(c_.grad_or_zeros(i));
    for (std::size_t i : wanted_additional_) n.inputs.push_back(zeros_like(b_, c_.operand(carried_ + mapped_ + i)));
    const std::size_t carried = n.inputs.size();
    for (ValueId v : stacked) n.inputs.push_back(backwards(v));
    for (std::size_t i = 0; i < mapped_; ++i) n.inputs.push_back(backwards(c_.operand(carried_ + i)));
    for (std::size_t i = carried_; i < body_.outputs; ++i) {
      if (c_.grad(i) != kNoValue) n.inputs.push_back(backwards(c_.grad(i)));
    }
    n.attrs = {attr(AttrKey::carried, static_cast<std::int64_t>(carried)),
               attr(AttrKey::mapped, static_cast<std::int64_t>(n.inputs.size() - carried))};
    for (std::size_t i = 0; i < additional_; ++i) n.inputs.push_back(c_.operand(carried_ + mapped_ + i));
    const std::vector<ValueId> results = b_.add(std::move(n));
    std::size_t next = 0;
    for (std::size_t i : flowing_) c_.add_gradient(i, results[next++]);
    for (std::size_t i : wanted_additional_) c_.add_gradient(carried_ + mapped_ + i, results[next++]);
    for (std::size_t i : wanted_slices_) c_.add_gradient(carried_ + i, backwards(results[next++]));
  }

 private:
  ValueId backwards(ValueId v) { return b_.flip(v, {0}); }

  /// Stacks the values of a round beyond recomputation: the initial carried values and the random numbers.
  std::vector<ValueId> keep_rounds() {
    if (carried_ == 0 && body_.saved_types.empty()) return {};
    Program& program = b_.program();
    Function copy = program.functions[body_.function];
    for (std::size_t i = 0; i < carried_; ++i) {
      FunctionOutput output;
      output.value = input_value(program, body_.function, i);
      copy.outputs.push_back(std::move(output));
    }
    program.functions.push_back(std::move(copy));
    std::vector<TensorType> types = body_.saved_types;
    types.insert(types.end(), types_.begin(), types_.begin() + static_cast<std::ptrdiff_t>(carried_));
    const Dim rounds = b_.size(c_.operand(carried_), 0);
    for (TensorType& t : types) t.shape.insert(t.shape.begin(), rounds);
    return run_instead(c_, {static_cast<std::uint32_t>(program.functions.size() - 1)}, types);
  }

  /// Creates the body of the backward loop. Inputs: gradients of the carried values and sums for the additional
  /// operands; slices of the stacked values, of the loop's operands and of its results' gradients; the additional
  /// operands. Results: the new gradients and sums, and the gradients of the slices.
  std::uint32_t backward_body() {
    Program& program = b_.program();
    const std::uint32_t number = new_function(program, program.functions[body_.function].name + ".gradient");
    Builder b(program, number);
    const std::vector<TensorType> results = output_types(program, body_.function);
    std::vector<ValueId> seeds(body_.outputs, kNoValue), sums, saved, inputs;
    const auto type_of = [&](std::size_t i) { return types_[carried_ + mapped_ + i]; };
    for (std::size_t i : flowing_) seeds[i] = new_input(b, types_[i], "gradient");
    for (std::size_t i : wanted_additional_) sums.push_back(new_input(b, type_of(i), "sum"));
    for (const TensorType& t : body_.saved_types) saved.push_back(new_input(b, t, "kept"));
    for (std::size_t i = 0; i < carried_ + mapped_; ++i) inputs.push_back(new_input(b, types_[i], "slice"));
    for (std::size_t i = carried_; i < body_.outputs; ++i) {
      if (c_.grad(i) != kNoValue) seeds[i] = new_input(b, results[i], "gradient");
    }
    for (std::size_t i = 0; i < additional_; ++i) inputs.push_back(new_input(b, type_of(i), "operand"));

    std::vector<std::size_t> needed = flowing_;
    for (std::size_t i : wanted_additional_) needed.push_back(carried_ + mapped_ + i);
    for (std::size_t i : wanted_slices_) needed.push_back(carried_ + i);
    BackwardBody backward(b, body_, inputs, saved);
    const std::vector<ValueId> gradients = backward.gradients(seeds, needed, c_.backward);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const bool summed = i >= flowing_.size() && i < flowing_.size() + sums.size();
      new_output(b, summed ? add_gradients(b, sums[i - flowing_.size()], gradients[i]) : gradients[i]);
    }
    return number;
  }

  GradientCall& c_;
  Builder& b_;
  const std::size_t carried_, mapped_, additional_;
  const AugmentedBody body_;
  const std::vector<TensorType> types_;
  const std::vector<std::size_t> wanted_slices_, wanted_additional_;
  std::vector<std::size_t> flowing_;  ///< carried values with gradients
};

void loop(GradientCall& c) {
  LoopGradient(c).add_loop_gradients();
}

constexpr GradientEntry kControlRules[] = {
    {Op::cond, cond},
    {Op::call, call},
    {Op::scan_loop, loop},
    {Op::map_loop, loop},
};

}  // namespace

std::span<const GradientEntry> gradients_of_control() {
  return kControlRules;
}

}  // namespace tern
