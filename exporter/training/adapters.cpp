#include "exporter/training/adapters.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "exporter/builder.h"
#include "exporter/rewrite.h"
#include "exporter/training/initial.h"
#include "exporter/training/methods.h"
#include "exporter/training/states.h"
#include "platform/pattern.h"

namespace tern {
namespace {

std::string_view strip_weight_suffix(std::string_view name) {
  constexpr std::string_view kWeight = ".weight";
  return name.ends_with(kWeight) ? name.substr(0, name.size() - kWeight.size()) : name;
}

bool matches(const LoraRule& rule, const std::string& name) {
  const std::string module(strip_weight_suffix(name));
  return platform::matches_pattern(rule.pattern, name) || platform::matches_pattern(rule.pattern, module);
}

bool is_matrix(const State& s) {
  return s.kind == State::Kind::parameter && is_floating(s.type.dtype) && element_size(s.type.dtype) > 1 &&
         !s.type.quantized() && s.type.rank() == 2;
}

bool is_transposed(const Node& n) {
  return n.op == Op::permute && n.integer_at(AttrKey::axes, 0) == 1 && n.integer_at(AttrKey::axes, 1) == 0;
}

ValueId state_in(const Function& f, std::uint32_t state) {
  for (const FunctionInput& input : f.inputs) {
    if (input.kind == FunctionInput::Kind::state && input.state == state) return input.value;
  }
  return kNoValue;
}

bool is_result(const Function& f, ValueId v) {
  return std::ranges::any_of(f.outputs, [v](const FunctionOutput& o) { return o.value == v; }) ||
         std::ranges::any_of(f.writebacks, [v](const WriteBack& w) { return w.value == v; });
}

/// How products read a matrix as their second operand.
enum class AdaptersForm { none, transposed, direct, other };

/// With the operands: the matrix itself, or its transposed forms. `other`: something else reads it too, or both forms
/// are read.
AdaptersForm form_of(const Function& f, ValueId matrix, std::vector<ValueId>& operands) {
  if (is_result(f, matrix)) return AdaptersForm::other;
  AdaptersForm form = AdaptersForm::none;
  for (const Node& n : f.nodes) {
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      if (n.inputs[i] != matrix) continue;
      const AdaptersForm form_here = is_transposed(n)               ? AdaptersForm::transposed
                                     : n.op == Op::matmul && i == 1 ? AdaptersForm::direct
                                                                    : AdaptersForm::other;
      if (form_here == AdaptersForm::other || (form != AdaptersForm::none && form != form_here))
        return AdaptersForm::other;
      form = form_here;
      operands.push_back(form_here == AdaptersForm::transposed ? n.outputs[0] : matrix);
    }
  }
  for (const Node& n : f.nodes) {
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      if (std::ranges::find(operands, n.inputs[i]) != operands.end() && (n.op != Op::matmul || i != 1) &&
          n.inputs[i] != matrix)
        return AdaptersForm::other;
    }
  }
  const bool returned = std::ranges::any_of(operands, [&](ValueId v) { return is_result(f, v); });
  return returned ? AdaptersForm::other : form;
}

/// In all functions; bodies of control flow are `other`.
AdaptersForm form_of(const Program& program, std::uint32_t state) {
  AdaptersForm form = AdaptersForm::none;
  for (const Function& f : program.functions) {
    const ValueId v = state_in(f, state);
    if (v == kNoValue) continue;
    std::vector<ValueId> operands;
    const AdaptersForm form_here = f.entry ? form_of(f, v, operands) : AdaptersForm::other;
    if (form_here == AdaptersForm::none) continue;
    if (form_here == AdaptersForm::other || (form != AdaptersForm::none && form != form_here))
      return AdaptersForm::other;
    form = form_here;
  }
  return form;
}

/// Modules whose nodes read a matrix, or its transposed form.
std::set<std::string> reading_modules(const Program& program, std::uint32_t state) {
  std::set<std::string> modules;
  for (const Function& f : program.functions) {
    std::vector<ValueId> forms = {state_in(f, state)};
    if (forms[0] == kNoValue) continue;
    for (const Node& n : f.nodes) {
      if (std::ranges::find_first_of(n.inputs, forms) == n.inputs.end()) continue;
      if (is_transposed(n)) {
        forms.push_back(n.outputs[0]);
      } else if (n.origin >= 0) {
        modules.insert(program.origins.at(static_cast<std::size_t>(n.origin)).module);
      }
    }
  }
  return modules;
}

/// Another state over some of its bytes, read by a function: merging an adapter would change the other state's value.
const State* tied_to(const Program& program, std::uint32_t state) {
  for (std::uint32_t i = 0; i < program.states.size(); ++i) {
    const State &mine = program.states[state], &tied_state = program.states[i];
    if (i == state || !(is_same_tensor(mine, tied_state) || share_bytes(program, mine, tied_state))) continue;
    if (std::ranges::any_of(program.functions, [i](const Function& f) { return state_in(f, i) != kNoValue; }))
      return &tied_state;
  }
  return nullptr;
}

/// Name of another weight that is the same matrix, or of another module that reads the matrix; empty if none.
/// torch.export reads tied weights under one of their names, and may omit the others.
std::string tied_name(const Program& program, std::uint32_t state) {
  const State& s = program.states[state];
  if (const State* tied_state = tied_to(program, state)) return tied_state->name;
  const std::set<std::string> modules = reading_modules(program, state);
  if (modules.size() < 2) return {};
  const auto other_module =
      std::ranges::find_if(modules, [&](const auto& m) { return m != strip_weight_suffix(s.name); });
  return other_module->empty() ? "a weight of the whole model" : *other_module + ".weight";
}

/// Reason and remedy for a tied weight of a module.
std::string tied_text(std::string_view module, std::string_view other_module) {
  return fmt::format(
      "is tied to {0}: an adapter of one would change both. Give the layer a weight of its own before torch.export: "
      "model.{1}.weight = torch.nn.Parameter(model.{1}.weight.detach().clone())",
      other_module, module);
}

/// Why a parameter gets no adapter; empty if it can have one.
std::string obstacle(const Program& program, std::uint32_t state, AdaptersForm form) {
  if (!is_matrix(program.states[state])) return "is not a matrix of floats";
  if (form == AdaptersForm::none) return "is not read by a product";
  return form == AdaptersForm::other ? "is not only a weight of linear layers" : "";
}

void add_products(Program& program, std::uint32_t function, const std::vector<Adapter>& adapters) {
  Builder b(program, function);
  std::map<ValueId, const Adapter*> base;
  for (const Adapter& a : adapters) {
    const ValueId v = state_in(b.function(), a.weight);
    if (v == kNoValue) continue;
    std::vector<ValueId> operands;
    form_of(b.function(), v, operands);
    for (ValueId operand : operands) base[operand] = &a;
  }
  if (base.empty()) return;
  std::vector<Node> old_nodes = std::move(b.function().nodes);
  b.function().nodes.clear();
  for (Node& n : old_nodes) {
    const auto found = n.op == Op::matmul ? base.find(n.inputs.at(1)) : base.end();
    const ValueId x = n.inputs.empty() ? kNoValue : n.inputs[0];
    const std::int32_t origin = n.origin;
    b.function().nodes.push_back(std::move(n));
    if (found == base.end()) continue;
    const Adapter& a = *found->second;
    const ValueId result = b.function().nodes.back().outputs[0];
    const ValueId y = b.add_value(b.type(result));
    b.function().nodes.back().outputs[0] = y;
    b.set_origin(origin);
    const ValueId down = b.transpose(value_of_state(program, b.function(), a.a), 0, 1);
    const ValueId up = b.transpose(value_of_state(program, b.function(), a.b), 0, 1);
    const ValueId z = b.matmul(b.matmul(x, down), up);
    b.expr("y + s * z", {{"y", y}, {"s", a.scale()}, {"z", z}}, b.dtype(y));
    b.function().nodes.back().outputs[0] = result;
    b.set_origin(-1);
  }
}

std::uint32_t add_matrix(Program& program, std::string name, const TensorType& type, std::vector<std::byte> bytes) {
  const std::uint32_t s = add_training_state(program, std::move(name), type, std::move(bytes));
  program.states[s].kind = State::Kind::parameter;
  program.states[s].persistent = true;
  return s;
}

/// Parameter matched by rules, without an adapter.
struct LeftOut {
  std::string name, reason;
  bool is_tied = false;
};

/// Module matched by a rule, whose weight has only the name of another module; empty if none.
std::string tied_module(const Program& program, const LoraRule& rule, std::string& weight) {
  for (std::uint32_t i = 0; i < program.states.size(); ++i) {
    if (!is_matrix(program.states[i])) continue;
    for (const std::string& module : reading_modules(program, i)) {
      const bool is_named = std::ranges::find(program.states, module + ".weight", &State::name) != program.states.end();
      if (is_named || !matches(rule, module + ".weight")) continue;
      weight = program.states[i].name;
      return module;
    }
  }
  return {};
}

/// Fails if a rule gave no weight an adapter, with the most helpful reason.
void refuse_unused(const Program& program, const LoraRule& rule, const std::vector<Adapter>& adapters,
                   const std::vector<LeftOut>& left_out) {
  const auto refuse = [&](const std::string& reason) {
    fail(ErrorCode::invalid_argument, fmt::format("--lora {}: {}", rule.pattern, reason));
  };
  for (const Adapter& a : adapters) {
    if (const std::string& name = program.states[a.weight].name; matches(rule, name))
      refuse(fmt::format("an earlier --lora matches {}, and the first match applies: give this one before it", name));
  }
  for (const LeftOut& l : left_out) {
    if (matches(rule, l.name) && l.is_tied) refuse(fmt::format("it matches {}, which {}", l.name, l.reason));
    if (matches(rule, l.name))
      refuse(fmt::format("it matches {}, which {}: adapters need linear weights", l.name, l.reason));
  }
  std::string weight;
  if (const std::string module = tied_module(program, rule, weight); !module.empty())
    refuse(fmt::format("it matches the layer {}, whose weight {}", module, tied_text(module, weight)));
  refuse("no parameter matches; 'tern inspect --weights 1000' lists them");
}

template <class T>
bool read_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::uint32_t state_named(const Program& program, const std::string& name, const std::string& module) {
  const auto found = std::ranges::find(program.states, name, &State::name);
  if (found == program.states.end())
    fail(ErrorCode::bad_file, fmt::format("the adapter of '{}' has no state '{}'", module, name));
  return static_cast<std::uint32_t>(found - program.states.begin());
}

/// Metadata may be anyone's.
void require_fitting(const Program& program, const Adapter& a) {
  const State &w = program.states[a.weight], &down = program.states[a.a], &up = program.states[a.b];
  const bool shapes_match = is_matrix(w) &&
                            down.type == TensorType{w.type.dtype, {a.rank, w.type.shape[a.input_axis()]}} &&
                            up.type == TensorType{w.type.dtype, {w.type.shape[a.output_axis()], a.rank}};
  if (!shapes_match) {
    fail(ErrorCode::bad_file, fmt::format("the sizes of the adapter of '{}' do not fit its weight, {}", a.module,
                                          text_of(w.type, program.pool)));
  }
}

}  // namespace

LoraRule parse_lora(const std::string& text) {
  const auto refuse = [&] {
    fail(ErrorCode::invalid_argument,
         fmt::format("--lora takes PATTERN[:rank=R,alpha=A] with a rank from 1 to 65536 and a finite alpha, not '{}'",
                     text));
  };
  LoraRule rule;
  const std::size_t colon = text.find(':');
  rule.pattern = text.substr(0, colon);
  bool has_alpha = false;
  std::string_view remaining =
      colon == std::string::npos ? std::string_view{} : std::string_view(text).substr(colon + 1);
  while (!remaining.empty()) {
    const std::string_view item = remaining.substr(0, remaining.find(','));
    remaining.remove_prefix(std::min(remaining.size(), item.size() + 1));
    if (item.starts_with("rank=") && read_number(item.substr(5), rule.rank)) continue;
    has_alpha = item.starts_with("alpha=") && read_number(item.substr(6), rule.alpha);
    if (!has_alpha) refuse();
  }
  if (!has_alpha) rule.alpha = static_cast<double>(rule.rank);
  if (rule.pattern.empty() || rule.rank < 1 || rule.rank > 65536 || !(std::abs(rule.alpha) < 1e30)) refuse();
  return rule;
}

AddedAdapters add_adapters(Program& program, const std::vector<LoraRule>& rules, std::uint64_t seed) {
  std::vector<bool> is_used(rules.size());
  std::vector<Adapter> adapters;
  std::vector<LeftOut> left_out;
  AddedAdapters adapters_added;
  PyTorchGenerator generator(seed);
  const std::size_t count = program.states.size();
  for (std::uint32_t i = 0; i < count; ++i) {
    const State s = program.states[i];  // a copy: states are added
    const auto rule = std::ranges::find_if(rules, [&](const LoraRule& r) { return matches(r, s.name); });
    if (s.kind != State::Kind::parameter || rule == rules.end()) continue;
    if (const std::string tied_module = is_matrix(s) ? tied_name(program, i) : std::string(); !tied_module.empty()) {
      adapters_added.tied_weights.push_back(s.name);
      left_out.push_back({s.name, tied_text(strip_weight_suffix(s.name), tied_module), true});
      continue;
    }
    const AdaptersForm form = form_of(program, i);
    if (std::string reason = obstacle(program, i, form); !reason.empty()) {
      if (s.type.rank() > 1) adapters_added.left_out.push_back(s.name);
      left_out.push_back({s.name, std::move(reason), false});
      continue;
    }
    is_used[static_cast<std::size_t>(rule - rules.begin())] = true;
    Adapter a;
    a.module = strip_weight_suffix(s.name);
    a.weight = i;
    a.rank = rule->rank;
    a.alpha = rule->alpha;
    a.fan_in_fan_out = form == AdaptersForm::direct;
    const std::int64_t output_size = s.type.shape[a.output_axis()].value(),
                       input_size = s.type.shape[a.input_axis()].value();
    const TensorType down{s.type.dtype, {a.rank, input_size}}, up{s.type.dtype, {output_size, a.rank}};
    std::uint64_t size = 0;
    byte_size(up, &size);
    a.a = add_matrix(program, a.module + std::string(training::kLoraA), down, generator.kaiming_uniform(down));
    a.b = add_matrix(program, a.module + std::string(training::kLoraB), up, std::vector<std::byte>(size));
    program.metadata.emplace_back(
        fmt::format("{}{}", training::kLoraKey, a.module),
        fmt::format("{} {}{}", a.rank, a.alpha, a.fan_in_fan_out ? training::kFanInFanOut : ""));
    adapters.push_back(std::move(a));
  }
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (!is_used[i]) refuse_unused(program, rules[i], adapters, left_out);
  }
  for (std::uint32_t f = 0; f < program.functions.size(); ++f) add_products(program, f, adapters);
  for (const Adapter& a : adapters) {
    adapters_added.parameters.push_back({a.a, {a.a}});
    adapters_added.parameters.push_back({a.b, {a.b}});
  }
  return adapters_added;
}

std::vector<Adapter> adapters_of(const Program& program) {
  std::vector<Adapter> adapters;
  for (const auto& [key, value] : program.metadata) {
    if (!key.starts_with(training::kLoraKey)) continue;
    Adapter a;
    a.module = key.substr(training::kLoraKey.size());
    std::string_view text(value);
    a.fan_in_fan_out = text.ends_with(training::kFanInFanOut);
    if (a.fan_in_fan_out) text.remove_suffix(training::kFanInFanOut.size());
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos || !read_number(text.substr(0, space), a.rank) ||
        !read_number(text.substr(space + 1), a.alpha) || a.rank < 1)
      fail(ErrorCode::bad_file, fmt::format("the adapter of '{}' has no rank and alpha", a.module));
    a.a = state_named(program, a.module + std::string(training::kLoraA), a.module);
    a.b = state_named(program, a.module + std::string(training::kLoraB), a.module);
    const std::string weight = a.module + ".weight";
    const bool names_weight = std::ranges::find(program.states, weight, &State::name) != program.states.end();
    a.weight = state_named(program, names_weight ? weight : a.module, a.module);
    require_fitting(program, a);
    adapters.push_back(std::move(a));
  }
  return adapters;
}

void remove_adapters(Program& program, std::uint32_t function, const std::vector<Adapter>& adapters) {
  Function& f = program.functions[function];
  for (const Adapter& a : adapters) {
    const ValueId b = state_in(f, a.b);
    std::vector<ValueId> forms;
    if (b == kNoValue) continue;
    if (form_of(f, b, forms) != AdaptersForm::transposed)
      fail(ErrorCode::internal, "an adapter differs from the one that export made");
    std::vector<ValueId> products;
    for (const Node& n : f.nodes) {
      if (n.op == Op::matmul && std::ranges::find(forms, n.inputs[1]) != forms.end()) products.push_back(n.outputs[0]);
    }
    for (ValueId z : products) {
      const auto sum = std::ranges::find_if(
          f.nodes, [z](const Node& n) { return std::ranges::find(n.inputs, z) != n.inputs.end(); });
      if (sum == f.nodes.end() || sum->op != Op::pointwise || sum->inputs.size() != 2)
        fail(ErrorCode::internal, "an adapter differs from the one that export made");
      use_instead(f, sum->outputs[0], sum->inputs[sum->inputs[0] == z ? 1 : 0]);
    }
  }
}

}  // namespace tern
