#include "tools/verify/programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tools/verify/portions.h"

namespace tern {
namespace {

void set_values(Dims& dims, const std::vector<std::int64_t>& values) {
  for (Dim& d : dims) d = resolve_dim(d, values);
}

void set_sizes(Node& n, const CallSizes& sizes) {
  for (Attr& a : n.attrs) {
    if (auto* dims = std::get_if<Dims>(&a.data); dims != nullptr && a.key != AttrKey::symbols)
      set_values(*dims, sizes.all_values);
  }
}

/// Bodies take the sizes of their calling function.
void set_sizes(Function& f, const CallSizes& sizes) {
  for (Value& v : f.values) set_values(v.type.shape, sizes.all_values);
  for (Node& n : f.nodes) set_sizes(n, sizes);
}

/// Builds the function of isolated nodes.
class Cutter {
 public:
  Cutter(const Function& original, const CallSizes& sizes, CutNodes& cut)
      : original_(original), weights_(original), sizes_(sizes), cut_(cut) {
    f_.name = original.name;
    f_.in_tree = original.in_tree;
    f_.entry = true;
    for (const FunctionInput& input : original.inputs) {
      if (input.kind == FunctionInput::Kind::state && input.value != kNoValue) states_[input.value] = &input;
    }
  }
  void add(Node n) {
    for (ValueId& v : n.inputs) {
      if (v != kNoValue) v = operand(v);
    }
    // A node computing sizes binds their symbols; these symbols stay.
    const bool finds = !n.dims(AttrKey::symbols).empty();
    const std::vector<ValueId> measured = measured_results(original_, n);
    for (ValueId& v : n.outputs) {
      if (v == kNoValue) continue;
      const ValueId original = v;
      v = value(original, finds ? sizes_.input_values : sizes_.all_values);
      if (std::ranges::find(measured, original) == measured.end()) continue;
      f_.outputs.push_back({FunctionOutput::Kind::tensor, v, fmt::format("v{}", original)});
      cut_.results.push_back(original);
    }
    set_sizes(n, sizes_);
    f_.nodes.push_back(std::move(n));
  }
  Function extract_function() { return std::move(f_); }

 private:
  ValueId value(ValueId original, const std::vector<std::int64_t>& sizes) {
    f_.values.push_back(original_.values[static_cast<std::size_t>(original)]);
    set_values(f_.values.back().type.shape, sizes);
    return static_cast<ValueId>(f_.values.size() - 1);
  }
  ValueId operand(ValueId original) {
    const auto found = operands_.find(original);
    if (found != operands_.end()) return found->second;
    const ValueId v = weights_.contains(original) ? weight(original) : from_caller(original);
    operands_[original] = v;
    return v;
  }
  ValueId from_caller(ValueId original) {
    const ValueId v = value(original, sizes_.all_values);
    f_.inputs.push_back({FunctionInput::Kind::user, v, 0, fmt::format("v{}", original), {}});
    cut_.operands.push_back(original);
    return v;
  }
  /// A state, or a value computed from states, together with its nodes.
  ValueId weight(ValueId original) {
    const Node* producer = weights_.producer(original);
    if (producer == nullptr) {
      const ValueId v = value(original, sizes_.all_values);
      f_.inputs.push_back(*states_.at(original));
      f_.inputs.back().value = v;
      return v;
    }
    Node n = *producer;
    for (ValueId& v : n.inputs) v = operand(v);
    ValueId wanted = kNoValue;
    for (ValueId& v : n.outputs) {
      if (v == kNoValue) continue;
      const bool is_it = v == original;
      v = value(v, sizes_.all_values);
      if (is_it) wanted = v;
    }
    set_sizes(n, sizes_);
    f_.nodes.push_back(std::move(n));
    return wanted;
  }

  const Function& original_;
  const WeightValues weights_;
  const CallSizes& sizes_;
  CutNodes& cut_;
  Function f_;
  std::map<ValueId, const FunctionInput*> states_;
  std::map<ValueId, ValueId> operands_;
};

}  // namespace

std::shared_ptr<const Program> observing(const Program& program, std::uint32_t function,
                                         std::span<const ValueId> values) {
  auto copy = std::make_shared<Program>(program);
  Function& f = copy->functions[function];
  f.outputs.clear();
  for (ValueId v : values) f.outputs.push_back({FunctionOutput::Kind::tensor, v, fmt::format("v{}", v)});
  return copy;
}

CutNodes cut_nodes(const Program& program, std::uint32_t function, std::span<const std::uint32_t> nodes,
                   const CallSizes& sizes) {
  CutNodes cut;
  auto copy = std::make_shared<Program>(program);
  copy->tunings.clear();  // tunings refer to node numbers
  const Function& original = program.functions[function];
  Cutter cutter(original, sizes, cut);
  for (const std::uint32_t i : nodes) cutter.add(original.nodes[i]);
  for (Function& f : copy->functions) set_sizes(f, sizes);
  copy->functions[function] = cutter.extract_function();
  cut.program = std::move(copy);
  return cut;
}

}  // namespace tern
