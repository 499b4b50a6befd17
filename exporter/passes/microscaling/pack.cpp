
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "exporter/constants.h"
#include "exporter/passes/constant_part.h"
#include "exporter/passes/microscaling/forms.h"
#include "exporter/passes/passes.h"
#include "exporter/rewrite.h"
#include "schema/passes/unread_states.h"

namespace tern {
namespace {

using namespace microscaling;

class Packer {
 public:
  explicit Packer(Program& program) : program_(program) {
    for (const Storage& s : program.storages) budget_ += std::min(s.size, kMost) * kWorkPerByte;
  }

  void run() {
    const bool has_scales = std::any_of(program_.states.begin(), program_.states.end(), [](const State& s) {
      return s.type.dtype == DType::f8_e8m0 || s.type.dtype == DType::u8;
    });
    if (!has_scales) return;
    for (Function& f : program_.functions) {
      visited_.clear();
      pack_given(f);
      while (pack_one(f)) {
      }
    }
    if (packed_.empty()) return;
    std::vector<bool> candidates(program_.states.size());
    for (const auto& [key, number] : packed_) candidates[std::get<0>(key)] = candidates[std::get<1>(key)] = true;
    // The MX value takes the name of its elements if they are removed.
    std::map<std::string, std::string> names;
    for (const auto& [key, number] : packed_) {
      names.emplace(program_.states[std::get<0>(key)].name, program_.states[number].name);
    }
    remove_unread_states(program_, candidates);
    for (const auto& [name, result] : names) {
      const auto called = [this](const std::string& n) {
        return std::find_if(program_.states.begin(), program_.states.end(),
                            [&](const State& s) { return s.name == n; });
      };
      if (called(name) == program_.states.end()) called(result)->name = name;
    }
    for (Function& f : program_.functions) {
      for (FunctionInput& input : f.inputs) {
        if (input.kind == FunctionInput::Kind::state) input.name = program_.states[input.state].name;
      }
    }
  }

 private:
  /// Turns mx_pack of two states, from tensor subclasses, into the MX state.
  void pack_given(Function& f) {
    std::map<ValueId, std::uint32_t> states;
    for (const FunctionInput& input : f.inputs) {
      if (input.kind == FunctionInput::Kind::state && !program_.states[input.state].is_mutable)
        states[input.value] = input.state;
    }
    for (std::size_t i = 0; i < f.nodes.size(); ++i) {
      if (f.nodes[i].op != Op::mx_pack) continue;
      const auto elements = states.find(f.nodes[i].inputs[0]), scales = states.find(f.nodes[i].inputs[1]);
      if (elements == states.end() || scales == states.end()) continue;
      const ValueId packed = f.nodes[i].outputs[0];
      const TensorType type = f.values[static_cast<std::size_t>(packed)].type;
      for (const MicroscaledForm& form : possible_forms(program_, {elements->second, scales->second})) {
        if (form.elements != elements->second || !(form.type == type) || !valid_elements(program_, form)) continue;
        use_instead(f, packed, value_of_state(program_, f, state_of(form)));
        break;
      }
    }
  }

  /// Replaces one value; false if none remains.
  bool pack_one(Function& f) {
    const ConstantPart constants(program_, f);
    for (ValueId result : constants.results()) {
      // Walks from the result towards its constants: views and conversions may follow the product.
      ValueId v = result;
      for (int steps = 0; steps < kMaxSteps && constants.producer(v) >= 0; ++steps) {
        const auto producer = static_cast<std::size_t>(constants.producer(v));
        const Node& n = f.nodes[producer];
        if (n.op == Op::dequantize) break;
        const bool view = n.op == Op::reshape || n.op == Op::permute;
        if (!view && visited_.insert(v).second && try_value(f, constants, v, producer)) return true;
        if (n.inputs.size() != 1 || n.outputs.size() != 1) break;
        v = n.inputs[0];
      }
    }
    return false;
  }

  bool try_value(Function& f, const ConstantPart& constants, ValueId v, std::size_t index) {
    if (!is_floating(f.values[static_cast<std::size_t>(v)].type.dtype)) return false;
    const ConstantSlice slice = constants.slice(v);
    std::vector<MicroscaledForm> forms = possible_forms(program_, slice.states);
    const Dim requested = program_.pool.product(f.values[static_cast<std::size_t>(v)].type.shape);
    std::erase_if(forms,
                  [&](const MicroscaledForm& form) { return program_.pool.product(form.type.shape) != requested; });
    const std::uint64_t slice_cost = constants.cost(slice);
    if (forms.empty() || slice_cost > budget_) return false;
    budget_ -= slice_cost;
    const MicroscaledForm* found = nullptr;
    const auto compare_forms = [&](const Tensor& value) {
      for (const MicroscaledForm& form : forms) {
        if (found == nullptr && dequantizes_to(program_, form, value)) found = &form;
      }
    };
    if (!constants.evaluate(v, slice, compare_forms) || found == nullptr) return false;
    replace(f, v, index, *found);
    return true;
  }

  /// The node `at`, which gives v, becomes dequantize, and a reshape where v has other sizes.
  void replace(Function& f, ValueId v, std::size_t index, const MicroscaledForm& form) {
    const TensorType old_type = f.values[static_cast<std::size_t>(v)].type;
    const auto add_value = [&f](TensorType type) {
      f.values.push_back({std::move(type), {}});
      return static_cast<ValueId>(f.values.size() - 1);
    };
    Node dequantize;
    dequantize.op = Op::dequantize;
    dequantize.origin = f.nodes[index].origin;
    dequantize.annotations = f.nodes[index].annotations;
    dequantize.inputs = {value_of_state(program_, f, state_of(form))};
    dequantize.set(AttrKey::dtype, Dims{static_cast<std::int64_t>(old_type.dtype)});
    if (old_type.shape == form.type.shape) {
      dequantize.outputs = {v};
      f.nodes[index] = std::move(dequantize);
      return;
    }
    Node reshape;
    reshape.op = Op::reshape;
    reshape.origin = dequantize.origin;
    reshape.set(AttrKey::sizes, old_type.shape);
    reshape.outputs = {v};
    const ValueId full_value = add_value({old_type.dtype, form.type.shape});
    dequantize.outputs = reshape.inputs = {full_value};
    f.nodes[index] = std::move(reshape);
    f.nodes.insert(f.nodes.begin() + static_cast<std::ptrdiff_t>(index), std::move(dequantize));
    // Reshapes back to the MX value's own sizes are not needed.
    for (const Node& n : f.nodes) {
      if (n.op != Op::reshape || n.inputs[0] != v) continue;
      const ValueId requantized = n.outputs[0];
      if (f.values[static_cast<std::size_t>(requantized)].type.shape == form.type.shape)
        use_instead(f, requantized, full_value);
    }
  }

  std::uint32_t state_of(const MicroscaledForm& form) {
    const Key key{form.elements, form.scales, form.type.dtype, form.type.blocks.columns, form.type.blocks.layout};
    if (const auto it = packed_.find(key); it != packed_.end()) return it->second;
    const State& elements = program_.states[form.elements];
    State state;
    state.name = elements.name + ".mx";
    state.kind = elements.kind;
    state.persistent = elements.persistent;
    state.type = form.type;
    state.strides = row_major(form.type.shape);
    state.storage = add_storage(program_, packed_bytes(program_, form));
    const auto number = static_cast<std::uint32_t>(program_.states.size());
    program_.states.push_back(std::move(state));
    packed_.emplace(key, number);
    return number;
  }

  static constexpr int kMaxSteps = 16;
  /// Work that all weights together may take: some 50 operators of a weight on 8 bytes per element at most, a few
  /// times each.
  static constexpr std::uint64_t kWorkPerByte = 1024, kMost = std::uint64_t{1} << 44;
  std::uint64_t budget_ = std::uint64_t{1} << 24;
  std::set<ValueId> visited_;  ///< values of the current function

  using Key = std::tuple<std::uint32_t, std::uint32_t, DType, std::int32_t, ScaleLayout>;
  Program& program_;
  std::map<Key, std::uint32_t> packed_;  ///< states of packed elements and scales
};

}  // namespace

void pack_microscaling(Program& program) {
  Packer(program).run();
}

}  // namespace tern
