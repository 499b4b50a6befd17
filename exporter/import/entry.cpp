#include "exporter/import/entry.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "exporter/import/guards.h"
#include "exporter/import/tree_names.h"
#include "schema/work.h"

namespace tern::importing {
namespace {

using ArgumentKind = pt2::Argument::Kind;
using InputKind = pt2::InputSpec::Kind;
using OutputKind = pt2::OutputSpec::Kind;

/// Literal in Python's notation.
std::string python_text(const pt2::Argument& a) {
  switch (a.kind) {
    case ArgumentKind::none: return "None";
    case ArgumentKind::boolean:
    case ArgumentKind::sym_bool: return a.boolean ? "True" : "False";
    case ArgumentKind::integer:
    case ArgumentKind::sym_int: return fmt::format("{}", a.integer);
    case ArgumentKind::real:
    case ArgumentKind::sym_float: return fmt::format("{}", a.real);
    case ArgumentKind::string: return fmt::format("'{}'", a.text);
    default: return pt2::tag_of(a.kind);
  }
}

bool is_state(InputKind kind) {
  return kind == InputKind::parameter || kind == InputKind::buffer || kind == InputKind::tensor_constant;
}

}  // namespace

EntryImport::EntryImport(Shared& shared, ModelStates& states, const std::string& name)
    : shared_(shared),
      states_(states),
      model_(shared.model),
      function_(static_cast<std::uint32_t>(shared.program.functions.size())) {
  shared_.program.functions.emplace_back();
  Function& f = shared_.program.functions.back();
  f.name = name;
  f.entry = true;
  if (!model_.module_calls.empty() && model_.module_calls[0].signature) {
    f.in_tree = model_.module_calls[0].signature->in_spec;
    f.out_tree = model_.module_calls[0].signature->out_spec;
  }
  walker_ = std::make_shared<Walker>(shared_, function_);
}

void EntryImport::build() {
  walker_->scope().enter(model_.graph);
  pin_layouts(model_, shared_.symbols);
  add_inputs();
  share_storages();
  walker_->run(model_.graph);
  add_outputs();
  mark_written_states();
}

void EntryImport::add_inputs() {
  std::size_t user_inputs = 0;
  for (const pt2::InputSpec& s : model_.signature.inputs)
    user_inputs += s.kind == InputKind::user_input || s.kind == InputKind::constant_input;
  std::vector<std::string> names = input_names(model_);
  if (names.size() != user_inputs) names.clear();
  std::vector<std::string> user_names;  // names of the user's inputs
  for (const pt2::InputSpec& spec : model_.signature.inputs) {
    std::string name = spec.kind == InputKind::constant_input ? spec.target : spec.arg.name;
    if (spec.kind == InputKind::user_input || spec.kind == InputKind::constant_input) {
      if (!names.empty()) name = names[user_names.size()];
      if (name.empty()) name = fmt::format("in{}", user_names.size());
      user_names.push_back(name);
    }
    add_input(spec, name);
  }
  add_guards(walker_->scope(), user_names);
}

void EntryImport::add_input(const pt2::InputSpec& spec, const std::string& name) {
  const pt2::Argument& arg = spec.arg;
  switch (spec.kind) {
    case InputKind::parameter:
    case InputKind::buffer:
    case InputKind::tensor_constant: return state_input(spec);
    case InputKind::custom_obj: {
      Binding b;
      b.kind = Binding::Kind::object;
      b.text = arg.text;
      return walker_->scope().bind(arg.name, b);
    }
    case InputKind::token: return walker_->scope().bind(arg.name, Binding{});
    case InputKind::constant_input: return no_input(name, python_text(arg));
    case InputKind::user_input: break;
  }
  if (arg.kind == ArgumentKind::tensor) return tensor_input(arg, name);
  if ((arg.kind == ArgumentKind::sym_int || arg.kind == ArgumentKind::sym_bool ||
       arg.kind == ArgumentKind::sym_float) &&
      !arg.name.empty()) {
    return number_input(arg, name);
  }
  no_input(name, python_text(arg));
}

RefId EntryImport::add_state_input(std::uint32_t number) {
  const State& state = shared_.program.states[number];
  Builder& b = walker_->scope().builder();
  const ValueId v = b.add_value(state.type, state.name);
  b.function().inputs.push_back({FunctionInput::Kind::state, v, number, state.name, {}});
  return walker_->scope().aliases().add_base(v);
}

void EntryImport::state_input(const pt2::InputSpec& spec) {
  const std::size_t add_input = walker_->scope().builder().function().inputs.size();
  if (const pt2::PickledTensor* tensor = states_.subclass_of(spec)) {
    subclasses_.insert(spec.target);
    return walker_->scope().bind(spec.arg.name, Binding::quantized_tensor(subclass_input(spec, *tensor, spec.target)));
  }
  const RefId ref = add_state_input(states_.state_of(spec));
  input_of_[spec.target] = add_input;
  writable_inputs_.emplace_back(add_input, ref);
  walker_->scope().bind(spec.arg.name, Binding::tensor(ref));
}

/// Turns the plain inner tensors of all levels into states. The pickle reader limits the depth.
std::shared_ptr<QuantizedTensor> EntryImport::subclass_input(const pt2::InputSpec& spec,
                                                             const pt2::PickledTensor& tensor,
                                                             const std::string& name) {
  auto result = std::make_shared<QuantizedTensor>();
  result->tensor = &tensor;
  for (const auto& [attribute, inner] : tensor.inner) {
    const std::string full = fmt::format("{}.{}", name, attribute);
    charge_work(sizeof(QuantizedTensor) + full.size());
    if (!inner.is_plain()) {
      result->nested.emplace(attribute, subclass_input(spec, inner, full));
      continue;
    }
    const std::size_t add_input = walker_->scope().builder().function().inputs.size();
    const RefId ref = add_state_input(states_.pickled_state(spec, full, inner));
    subclass_inputs_.emplace_back(add_input, ref);
    result->inner.emplace(attribute, QuantizedTensor::InnerTensor{walker_->scope().aliases().current_value(ref), ref});
  }
  return result;
}

void EntryImport::tensor_input(const pt2::Argument& arg, const std::string& name) {
  const pt2::TensorMeta* meta = model_.graph.tensor_values.find(arg.name);
  if (meta == nullptr) fail(ErrorCode::bad_file, fmt::format("the type of input '{}' is not recorded", name));
  if (meta->layout != pt2::Layout::strided)
    fail(ErrorCode::unsupported, fmt::format("input '{}' is not a dense tensor", name));
  Builder& b = walker_->scope().builder();
  const ValueId v = b.add_value(shared_.symbols.type(*meta), name);
  input_of_[arg.name] = b.function().inputs.size();
  writable_inputs_.emplace_back(b.function().inputs.size(), walker_->scope().aliases().add_base(v));
  b.function().inputs.push_back({FunctionInput::Kind::user, v, 0, name, {}});
  walker_->scope().bind(arg.name, Binding::tensor(writable_inputs_.back().second));
}

/// Adds an integer input as a tensor of no dimensions; a node binds the program's symbol to the value.
void EntryImport::number_input(const pt2::Argument& arg, const std::string& name) {
  Builder& b = walker_->scope().builder();
  const DType dtype = arg.kind == ArgumentKind::sym_int    ? DType::i64
                      : arg.kind == ArgumentKind::sym_bool ? DType::boolean
                                                           : DType::f64;
  const ValueId v = b.add_value({dtype, {}}, name);
  b.function().inputs.push_back({FunctionInput::Kind::user, v, 0, name, {}});
  walker_->scalars().bind_number(model_.graph, arg, v);
}

void EntryImport::no_input(const std::string& name, const std::string& constant) {
  walker_->scope().builder().function().inputs.push_back({FunctionInput::Kind::none, kNoValue, 0, name, constant});
}

/// Tied states share one memory. Other overlapping states, if one of them is written, are views of their whole storage.
void EntryImport::share_storages() {
  Builder& b = walker_->scope().builder();
  const std::set<std::string> mark_written_states = written_inputs(model_.graph);
  if (mark_written_states.empty()) return;
  struct PlacedState {
    std::uint32_t state;
    std::size_t add_input;
    std::string name;
    RefId ref;
  };
  std::map<std::uint32_t, std::vector<PlacedState>> by_storage;
  for (std::size_t i = 0, m = 0; i < model_.signature.inputs.size(); ++i) {
    const pt2::InputSpec& spec = model_.signature.inputs[i];
    if (subclasses_.contains(spec.target)) continue;
    if (!is_state(spec.kind)) {
      m += spec.kind == InputKind::user_input && spec.arg.kind == ArgumentKind::tensor;
      continue;
    }
    const auto [add_input, ref] = writable_inputs_[m++];
    const std::uint32_t state = b.function().inputs[add_input].state;
    by_storage[shared_.program.states[state].storage].push_back({state, add_input, spec.arg.name, ref});
  }
  for (auto& [storage, placed] : by_storage) {
    bool any_written = false, overlapping = false, one_type = true;
    for (const PlacedState& p : placed) any_written = any_written || mark_written_states.contains(p.name);
    if (!any_written || placed.size() < 2) continue;
    const auto same_memory = [this, first = placed[0].state](const PlacedState& p) {
      const State &x = shared_.program.states[p.state], &y = shared_.program.states[first];
      return x.type == y.type && x.offset == y.offset && x.strides == y.strides;
    };
    for (std::size_t i = 0; i < placed.size(); ++i) {
      if (!overlapping) charge_work(placed.size() - i);
      one_type = one_type && shared_.program.states[placed[i].state].type.dtype ==
                                 shared_.program.states[placed[0].state].type.dtype;
      for (std::size_t k = i + 1; k < placed.size() && !overlapping; ++k) {
        overlapping =
            states_.overlap(placed[i].state, placed[k].state) && !(same_memory(placed[i]) && same_memory(placed[k]));
      }
    }
    if (overlapping && one_type) {
      const std::uint32_t storage_state = states_.whole_storage(placed[0].state);
      const State state = shared_.program.states[storage_state];
      const ValueId v = b.add_value(state.type, state.name);
      const RefId base = walker_->scope().aliases().add_base(v);
      writable_inputs_.emplace_back(b.function().inputs.size(), base);
      b.function().inputs.push_back({FunctionInput::Kind::state, v, storage_state, state.name, {}});
      for (const PlacedState& p : placed) {
        const State s = shared_.program.states[p.state];
        const std::size_t first = b.function().nodes.size();
        const Dims strides(s.strides.begin(), s.strides.end());
        const ValueId view = b.as_strided(v, s.type.shape, strides, s.offset);
        walker_->scope().bind(p.name, Binding::tensor(walker_->scope().aliases().add_view(
                                          base, view, view_step(b, "a buffer", v, view, first, {}))));
      }
      continue;
    }
    std::map<std::vector<std::int64_t>, RefId> first;  // states of the same memory share a Ref
    for (const PlacedState& p : placed) {
      const State& s = shared_.program.states[p.state];
      std::vector<std::int64_t> key = {s.offset};
      key.insert(key.end(), s.strides.begin(), s.strides.end());
      for (Dim d : s.type.shape) key.push_back(d.value());
      const auto [it, added] = first.try_emplace(std::move(key), p.ref);
      if (!added) walker_->scope().bind(p.name, Binding::tensor(it->second));
    }
  }
}

void EntryImport::write_back(std::size_t add_input, ValueId value) {
  Function& f = walker_->scope().builder().function();
  const FunctionInput& entry_input = f.inputs.at(add_input);
  if (value == entry_input.value) return;
  if (entry_input.kind == FunctionInput::Kind::state) {
    states_.set_mutable(entry_input.state);
    f.writebacks.push_back({WriteBack::Target::state, entry_input.state, value});
  } else {
    f.writebacks.push_back({WriteBack::Target::input, static_cast<std::uint32_t>(add_input), value});
  }
}

void EntryImport::add_mutation(const pt2::OutputSpec& spec) {
  const auto it = input_of_.find(spec.target);
  if (it == input_of_.end()) {
    fail(ErrorCode::bad_file, fmt::format("the program writes '{}', which is not one of its inputs", spec.target));
  }
  pt2::Argument arg = spec.arg;
  arg.kind = ArgumentKind::tensor;
  const ValueId input_value = walker_->scope().builder().function().inputs[it->second].value;
  write_back(it->second, walker_->scope().convert_like(walker_->scope().tensor_of(arg), input_value));
}

void EntryImport::add_output(const pt2::OutputSpec& spec, const std::string& name) {
  pt2::Argument arg = spec.arg;
  if (spec.kind != OutputKind::user_output) arg.kind = ArgumentKind::tensor;
  FunctionOutput function_output;
  function_output.name = name;
  const Binding b = arg.kind == ArgumentKind::string ? Binding{} : walker_->scope().binding_of(arg);
  switch (b.kind) {
    case Binding::Kind::integer: function_output.kind = FunctionOutput::Kind::integer; break;
    case Binding::Kind::boolean: function_output.kind = FunctionOutput::Kind::boolean; break;
    case Binding::Kind::real: function_output.kind = FunctionOutput::Kind::number; break;
    case Binding::Kind::quantized:
    case Binding::Kind::tensor: function_output.kind = FunctionOutput::Kind::tensor; break;
    default: function_output.kind = FunctionOutput::Kind::none;
  }
  if (function_output.kind != FunctionOutput::Kind::none) function_output.value = walker_->scope().value_of(b);
  walker_->scope().builder().function().outputs.push_back(std::move(function_output));
}

void EntryImport::add_outputs() {
  walker_->scope().builder().set_origin(-1);
  walker_->scope().enter(model_.graph);
  std::size_t users = 0;
  for (const pt2::OutputSpec& s : model_.signature.outputs)
    users += s.kind == OutputKind::user_output || s.kind == OutputKind::loss_output;
  std::vector<std::string> names = output_names(model_);
  if (names.size() != users) names.clear();
  std::size_t next = 0;
  for (const pt2::OutputSpec& spec : model_.signature.outputs) {
    switch (spec.kind) {
      case OutputKind::token: break;
      case OutputKind::buffer_mutation:
      case OutputKind::parameter_mutation:
      case OutputKind::user_input_mutation: add_mutation(spec); break;
      case OutputKind::gradient_to_parameter:
      case OutputKind::gradient_to_user_input: add_output(spec, "grad:" + spec.target); break;
      case OutputKind::user_output:
      case OutputKind::loss_output: {
        const std::string name = names.empty() ? fmt::format("out{}", next) : names[next];
        ++next;
        add_output(spec, name);
      }
    }
  }
}

/// Writes back every changed state: a traced program does not list its writes.
void EntryImport::mark_written_states() {
  for (const auto& [add_input, ref] : subclass_inputs_) {
    if (!walker_->scope().aliases().is_written(ref)) continue;
    fail(ErrorCode::unsupported, fmt::format("the program writes '{}', which is part of a tensor subclass",
                                             walker_->scope().builder().function().inputs[add_input].name));
  }
  for (const auto& [add_input, ref] : writable_inputs_) {
    if (walker_->scope().aliases().is_written(ref))
      write_back(add_input, walker_->scope().aliases().current_value(ref));
  }
}

}  // namespace tern::importing
