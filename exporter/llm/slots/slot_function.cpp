#include "exporter/llm/slots/slot_function.h"

#include <fmt/format.h>

#include <utility>

#include "generation/names.h"

namespace tern {

SlotFunction::SlotFunction(Program& program, std::uint32_t function, SlotOptions options)
    : program_(program),
      source_(std::exchange(program.functions[function], {})),
      b_(program, function),
      options_(std::move(options)),
      locations_(source_.values.size()) {
  b_.function().name = source_.name;
  b_.function().entry = source_.entry;
}

void SlotFunction::add_inputs() {
  Function& f = b_.function();
  const auto add_user = [&](std::string_view name, TensorType type) {
    const ValueId v = b_.add_value(std::move(type), std::string(name));
    f.inputs.push_back({FunctionInput::Kind::user, v, 0, std::string(name), {}});
    return v;
  };
  std::vector<std::pair<ValueId, ValueId>> argument;  // value of a single text, and of all texts
  for (const FunctionInput& input : source_.inputs) {
    if (input.kind != FunctionInput::Kind::user) continue;
    const TensorType& type = source_type(input.value);
    Dims sizes = {options_.texts};
    if (type.rank() == 2) sizes.push_back(type.shape[1]);  // tokens [1, n]
    argument.emplace_back(input.value, add_user(input.name, {type.dtype, sizes}));
    if (argument.size() == 1) slot_ = add_user(llm::kSlot, {DType::i64, {options_.texts}});
  }
  for (const FunctionInput& input : source_.inputs) {
    if (input.kind != FunctionInput::Kind::state) continue;
    const ValueId v = b_.add_value(program_.states[input.state].type, input.name);
    f.inputs.push_back({FunctionInput::Kind::state, v, input.state, input.name, {}});
    location(input.value) = {options_.slotted[input.state] ? ValueLocation::Kind::slots : ValueLocation::Kind::shared,
                             v};
  }
  check_slot();
  for (const auto& [one, all] : argument)
    location(one) = {ValueLocation::Kind::per_text, b_.reshape(all, inner(source_type(one)))};
}

void SlotFunction::check_slot() {
  const auto check = [&](ValueId truth, const std::vector<std::int64_t>& axes, const std::string& message) {
    b_.add_all(Op::assert_true, {b_.reduce(truth, "all", axes, false, DType::boolean)},
               {attr_text(AttrKey::text, message)});
  };
  const double last = static_cast<double>(options_.slots - 1);
  check(b_.expr("s >= 0 && s <= last", {{"s", slot_}, {"last", last}}, DType::i64, DType::boolean), {0},
        fmt::format("slot has a number outside 0 to {}", options_.slots - 1));
  if (options_.texts.is(1)) return;
  const ValueId i = b_.iota(options_.texts, DType::i64);
  const ValueId once = b_.expr("s != t || i == j",
                               {{"s", slot_},
                                {"t", b_.reshape(slot_, {options_.texts, 1})},
                                {"i", i},
                                {"j", b_.reshape(i, {options_.texts, 1})}},
                               DType::i64, DType::boolean);
  check(once, {0, 1}, "slot names one slot twice: a run advances each text by one token");
}

void SlotFunction::add_outputs() {
  Function& f = b_.function();
  for (const WriteBack& w : source_.writebacks) {
    if (w.target != WriteBack::Target::state) continue;
    ValueId v = location(w.value).value;
    if (!is_slots(w.value)) {  // entirely new
      const ValueId cache = [&] {
        for (const FunctionInput& function_input : f.inputs) {
          if (function_input.kind == FunctionInput::Kind::state && function_input.state == w.index)
            return function_input.value;
        }
        const ValueId input = b_.add_value(program_.states[w.index].type, program_.states[w.index].name);
        f.inputs.push_back({FunctionInput::Kind::state, input, w.index, program_.states[w.index].name, {}});
        return input;
      }();
      v = b_.add(Op::index_put, {cache, values_of_texts(w.value), slot_});
    }
    f.writebacks.push_back({w.target, w.index, v});
  }
  for (const FunctionOutput& o : source_.outputs) {
    const TensorType& type = source_type(o.value);
    Dims sizes = type.shape;  // token [1, 1], logits [1, vocabulary]
    sizes.front() = options_.texts;
    f.outputs.push_back({o.kind, b_.reshape(values_of_texts(o.value), sizes), o.name});
  }
}

std::vector<ValueId> SlotFunction::add(Node n) {
  n.outputs.clear();
  b_.set_origin(n.origin, n.annotations);
  std::vector<ValueId> result = b_.add(std::move(n));
  b_.set_origin(-1);
  return result;
}

void SlotFunction::set(const Node& source, const std::vector<ValueId>& result, ValueLocation::Kind kind) {
  for (std::size_t i = 0; i < source.outputs.size(); ++i) {
    if (source.outputs[i] != kNoValue) location(source.outputs[i]) = {kind, result[i]};
  }
}

void SlotFunction::copy_shared(const Node& n) {
  Node copy = n;
  for (ValueId& v : copy.inputs) v = v == kNoValue ? v : location(v).value;
  set(n, add(std::move(copy)), ValueLocation::Kind::shared);
}

void SlotFunction::reshape_slots(const Node& n) {
  Node copy = n;
  copy.inputs = {location(n.inputs[0]).value};
  Dims sizes = n.dims(AttrKey::sizes);
  sizes.insert(sizes.begin(), Dim(options_.slots));
  copy.set(AttrKey::sizes, sizes);
  set(n, add(std::move(copy)), ValueLocation::Kind::slots);
}

void SlotFunction::update_slots(const Node& n, ValueId values, const std::vector<ValueId>& indices) {
  Node copy = n;
  const Dims& sizes = b_.shape(indices[0]);
  Dims row_shape(sizes.size(), Dim(1));
  if (!row_shape.empty()) row_shape[0] = options_.texts;
  // Prefill has a single text; the first axis of the indices may differ.
  const ValueId slot = b_.expand(b_.reshape(slot_, row_shape), sizes);
  copy.inputs = {location(n.inputs[0]).value, values, slot};
  copy.inputs.insert(copy.inputs.end(), indices.begin(), indices.end());
  set(n, add(std::move(copy)), ValueLocation::Kind::slots);
}

}  // namespace tern
