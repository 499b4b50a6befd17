#include "exporter/optimizers/cone.h"

#include <fmt/format.h>
#include <tern/error.h>
#include <tern/tern.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "exporter/builder.h"
#include "exporter/constants.h"
#include "schema/def_use.h"

namespace tern::optimizers {
namespace {

constexpr std::size_t kMostNodes = 256;  // nodes of a cone

class ConeFinder {
 public:
  explicit ConeFinder(const Function& f) : f_(f), def_use_(f) {
    std::unordered_map<std::uint32_t, ValueId> states;
    for (const FunctionInput& input : f.inputs) {
      if (input.kind == FunctionInput::Kind::state) states[input.state] = input.value;
    }
    for (const WriteBack& w : f.writebacks) {
      const bool state = w.target == WriteBack::Target::state;
      const ValueId value_before = !state                     ? f.inputs[w.index].value
                                   : states.contains(w.index) ? states[w.index]
                                                              : kNoValue;
      if (value_before != kNoValue && value_before != w.value) pairs_.push_back({value_before, w.value});
    }
    for (const Pair& p : pairs_) new_values_[p.old_value] = p.new_value;
  }

  std::vector<Cone> run() {
    std::vector<Cone> cones;
    for (const Pair& p : pairs_) {
      if (is_number(p.old_value) || !is_floating(type(p.old_value).dtype)) continue;
      Cone c;
      c.param = p;
      if (build_cone(c)) cones.push_back(std::move(c));
    }
    std::ranges::stable_sort(cones, std::greater<>(), [](const Cone& c) { return c.states.size(); });
    std::set<ValueId> used_states;
    std::erase_if(cones, [&](const Cone& c) {
      const bool is_repeated =
          used_states.contains(c.param.old_value) ||
          std::ranges::any_of(c.states, [&](const Pair& s) { return used_states.contains(s.old_value); });
      if (is_repeated) return true;
      used_states.insert(c.param.old_value);
      for (const Pair& s : c.states) used_states.insert(s.old_value);
      return false;
    });
    return cones;
  }

 private:
  const TensorType& type(ValueId v) const { return f_.values[static_cast<std::size_t>(v)].type; }
  bool is_number(ValueId v) const { return type(v).rank() == 0; }
  /// Index of the pointwise node producing a value of the cone's sizes, or a number; else -1.
  std::int64_t node_of(const Cone& c, ValueId v) const {
    const std::int64_t i = def_use_.producer(v);
    if (i < 0 || f_.nodes[static_cast<std::size_t>(i)].op != Op::pointwise) return -1;
    return is_number(v) || type(v).shape == type(c.param.old_value).shape ? i : -1;
  }

  /// Collects all candidate nodes of the cone, and their leaf values.
  bool collect(const Cone& c, ValueId v, std::set<std::uint32_t>& nodes, std::set<ValueId>& leaves) const {
    const std::int64_t i = node_of(c, v);
    if (i < 0) {
      leaves.insert(v);
      return true;
    }
    if (!nodes.insert(static_cast<std::uint32_t>(i)).second) return true;
    if (nodes.size() > kMostNodes) return false;
    return std::ranges::all_of(f_.nodes[static_cast<std::size_t>(i)].inputs,
                               [&](ValueId x) { return x == kNoValue || collect(c, x, nodes, leaves); });
  }

  bool build_cone(Cone& c) const {
    std::set<std::uint32_t> nodes;
    std::set<ValueId> leaves;
    if (!collect(c, c.param.new_value, nodes, leaves) || !leaves.contains(c.param.old_value)) return false;
    std::set<ValueId> dependent_values{c.param.old_value};  // values independent of these come from outside
    std::vector<Pair> numbers;
    for (ValueId v : leaves) {
      const auto pair = new_values_.find(v);
      if (v == c.param.old_value || pair == new_values_.end()) continue;
      if (is_number(v)) {
        numbers.push_back({v, pair->second});
      } else if (type(v).shape == type(c.param.old_value).shape) {
        c.states.push_back({v, pair->second});
      } else {
        return false;
      }
      dependent_values.insert(v);
    }
    if (!name_numbers(c, numbers)) return false;
    for (const Pair& s : c.states) {
      if (!collect(c, s.new_value, nodes, leaves)) return false;
    }
    for (const Pair& n : {c.step, c.product}) {
      if (n.old_value != kNoValue && !collect(c, n.new_value, nodes, leaves)) return false;
    }
    return cut(c, nodes, dependent_values);
  }

  /// The step, of two numbers, is updated from itself alone.
  bool name_numbers(Cone& c, const std::vector<Pair>& numbers) const {
    if (numbers.size() > 2) return false;
    if (numbers.empty()) return true;
    c.step = numbers[0];
    if (numbers.size() == 1) return true;
    c.product = numbers[1];
    const auto depends_on = [&](const Pair& base, const Pair& source) {
      std::set<std::uint32_t> nodes;
      std::set<ValueId> leaves;
      return !collect(c, base.new_value, nodes, leaves) || leaves.contains(source.old_value);
    };
    if (depends_on(c.step, c.product)) std::swap(c.step, c.product);
    return !depends_on(c.step, c.product);
  }

  /// Drops nodes reading neither the parameter nor its states and numbers, and finds the gradient.
  bool cut(Cone& c, const std::set<std::uint32_t>& nodes, std::set<ValueId>& dependent_values) const {
    for (std::uint32_t i : nodes) {  // ordered: operands come first
      const Node& n = f_.nodes[i];
      if (std::ranges::none_of(n.inputs, [&](ValueId v) { return dependent_values.contains(v); })) continue;
      dependent_values.insert(n.outputs[0]);
      c.nodes.push_back(i);
    }
    const auto take_outside_value = [&](bool number, ValueId& position) {
      const std::optional<ValueId> v = only_outside(c, dependent_values, number);
      if (v) position = *v;
      return v.has_value();
    };
    if (!take_outside_value(false, c.grad) || !take_outside_value(true, c.lr)) return false;
    const auto result = [&](const Pair& p) { return dependent_values.contains(p.new_value); };
    if (c.grad == kNoValue || !result(c.param) || !std::ranges::all_of(c.states, result)) return false;
    if (c.step.old_value != kNoValue && !result(c.step)) return false;
    if (c.product.old_value != kNoValue && !result(c.product)) return false;
    c.form = form_of(c);
    return true;
  }

  /// The cone's only outside value, a number or a tensor of the parameter's sizes; kNoValue if none. Of several, such
  /// as a gradient and its magnitude, the latest is computed inside. Nothing if several remain.
  std::optional<ValueId> only_outside(Cone& c, std::set<ValueId>& dependent_values, bool number) const {
    for (;;) {
      std::set<ValueId> outside;
      for (std::uint32_t i : c.nodes) {
        for (ValueId v : f_.nodes[i].inputs) {
          if (v == kNoValue || dependent_values.contains(v)) continue;
          if (!is_number(v) && type(v).shape != type(c.param.old_value).shape) return std::nullopt;
          if (is_number(v) == number) outside.insert(v);
        }
      }
      if (outside.empty()) return kNoValue;
      if (outside.size() == 1) return *outside.begin();
      const auto latest = std::ranges::max_element(outside, {}, [&](ValueId v) { return node_of(c, v); });
      const std::int64_t node = node_of(c, *latest);
      if (node < 0 || c.nodes.size() > kMostNodes) return std::nullopt;
      c.nodes.insert(std::ranges::upper_bound(c.nodes, static_cast<std::uint32_t>(node)),
                     static_cast<std::uint32_t>(node));
      dependent_values.insert(*latest);
    }
  }

  std::string form_of(const Cone& c) const {
    std::map<ValueId, int> names;
    std::string text;
    const auto name = [&](ValueId v) {
      if (v == kNoValue) return -1;
      return names.try_emplace(v, static_cast<int>(names.size())).first->second;
    };
    const auto leaf = [&](ValueId v) {
      text += fmt::format("{}:{} ", name(v), v == kNoValue ? 0 : static_cast<int>(type(v).dtype));
    };
    for (ValueId v : {c.param.old_value, c.grad, c.step.old_value, c.product.old_value, c.lr}) leaf(v);
    for (const Pair& s : c.states) leaf(s.old_value);
    for (std::uint32_t i : c.nodes) {
      const Node& n = f_.nodes[i];
      for (ValueId v : n.inputs) text += fmt::format("{},", name(v));
      for (const Instruction& instruction : n.expr.code)
        text += fmt::format("{}.{}.{}.{}.{}.{:a}.{:a}.{};", static_cast<int>(instruction.op),
                            static_cast<int>(instruction.dtype), instruction.a, instruction.b, instruction.c,
                            instruction.number, instruction.imaginary, instruction.integer);
      text += fmt::format("={} ", name(n.outputs[0]));
    }
    for (const Pair& s : c.states) text += fmt::format("{} ", name(s.new_value));
    for (ValueId v : {c.param.new_value, c.step.new_value, c.product.new_value}) text += fmt::format("{} ", name(v));
    return text;
  }

  const Function& f_;
  const DefUse def_use_;
  std::vector<Pair> pairs_;
  std::unordered_map<ValueId, ValueId> new_values_;
};

DType widened(DType t, bool is_wide) {
  return is_wide && t == DType::f32 ? DType::f64 : t;
}

void set_element(Tensor& t, std::size_t i, double value) {
  if (t.dtype() == DType::f64) t.span<double>()[i] = value;
  if (t.dtype() == DType::f32) t.span<float>()[i] = static_cast<float>(value);
}
double element_of(const Tensor& t, std::size_t i) {
  return t.dtype() == DType::f64 ? t.span<const double>()[i] : static_cast<double>(t.span<const float>()[i]);
}

}  // namespace

std::vector<Cone> find_cones(const Function& f) {
  return ConeFinder(f).run();
}

std::vector<ConeValues> ConeProgram::run(const std::vector<ConeValues>& elements) const {
  auto step_program = std::make_shared<Program>();
  step_program->source = std::make_shared<ExtendableSource>(nullptr, 0);
  step_program->functions.emplace_back();
  step_program->functions[0].name = "step";
  step_program->functions[0].entry = true;
  Builder b(*step_program, 0);
  std::map<ValueId, ValueId> copied_values;
  std::vector<Tensor> inputs;
  const auto input = [&](ValueId v, auto&& value) {
    if (v == kNoValue) return;
    const TensorType& type = f_.values[static_cast<std::size_t>(v)].type;
    const bool number = type.rank() == 0;
    const auto count = static_cast<std::int64_t>(elements.size());
    const DType t = widened(type.dtype, is_wide_);
    if (t != DType::f32 && t != DType::f64) fail(ErrorCode::unsupported, "an optimizer cannot compute in 16 bits");
    copied_values[v] = b.add_value({t, number ? Dims() : Dims{Dim(count)}});
    b.function().inputs.push_back(
        {FunctionInput::Kind::user, copied_values[v], 0, "x" + std::to_string(inputs.size()), {}});
    Tensor tensor(t, number ? std::vector<std::int64_t>() : std::vector<std::int64_t>{count});
    for (std::size_t i = 0; i < (number ? 1 : elements.size()); ++i) set_element(tensor, i, value(elements[i]));
    inputs.push_back(std::move(tensor));
  };
  input(cone_.param.old_value, [](const ConeValues& n) { return n.p; });
  input(cone_.grad, [](const ConeValues& n) { return n.g; });
  input(cone_.step.old_value, [](const ConeValues& n) { return n.step; });
  input(cone_.product.old_value, [](const ConeValues& n) { return n.product; });
  input(cone_.lr, [](const ConeValues& n) { return n.lr; });
  for (std::size_t k = 0; k < cone_.states.size(); ++k)
    input(cone_.states[k].old_value, [&](const ConeValues& n) { return n.states.at(k); });
  for (std::uint32_t i : cone_.nodes) {
    Node n = f_.nodes[i];
    n.origin = -1;
    n.annotations.clear();
    for (ValueId& v : n.inputs) v = v == kNoValue ? v : copied_values.at(v);
    n.outputs.clear();
    for (Instruction& instruction : n.expr.code) instruction.dtype = widened(instruction.dtype, is_wide_);
    copied_values[f_.nodes[i].outputs[0]] = b.add(std::move(n)).at(0);
  }
  std::vector<ValueId> results{cone_.param.new_value};
  for (const Pair& s : cone_.states) results.push_back(s.new_value);
  for (ValueId v : {cone_.step.new_value, cone_.product.new_value}) {
    if (v != kNoValue) results.push_back(v);
  }
  for (ValueId v : results) b.function().outputs.push_back({FunctionOutput::Kind::tensor, copied_values.at(v), "y"});
  PrepareOptions options;
  options.reproducible = true;  // archives do not depend on the exporting processor
  Session session(Model(std::move(step_program)).prepare(options));
  const std::vector<Tensor>& outputs = session.run(inputs);
  std::vector<ConeValues> new_elements(elements.size());
  for (std::size_t i = 0; i < new_elements.size(); ++i) {
    new_elements[i].p = element_of(outputs[0], i);
    for (std::size_t k = 0; k < cone_.states.size(); ++k)
      new_elements[i].states.push_back(element_of(outputs[k + 1], i));
    std::size_t next = 1 + cone_.states.size();
    if (cone_.step.new_value != kNoValue) new_elements[i].step = element_of(outputs[next++], 0);
    if (cone_.product.new_value != kNoValue) new_elements[i].product = element_of(outputs[next], 0);
  }
  return new_elements;
}

}  // namespace tern::optimizers
