#include "exporter/passes/fold/fold.h"

#include <tern/tensor.h>

#include <algorithm>
#include <map>
#include <set>

#include "exporter/builder.h"
#include "exporter/constants.h"
#include "exporter/passes/constant_part.h"
#include "exporter/passes/passes.h"
#include "exporter/rewrite.h"
#include "schema/op_record.h"
#include "schema/passes/unread_states.h"

namespace tern {
namespace {

// Bytes read and computed for one constant, and for all constants; the sizes of weights allow more.
constexpr std::uint64_t kMostWork = std::uint64_t{32} << 20;
constexpr std::uint64_t kAllWork = std::uint64_t{256} << 20;

/// True for pure nodes whose work grows with the sizes of their operands and results. Packed weights stay packed.
bool is_foldable(const Node& n) {
  for (const Attr& a : n.attrs) {
    const auto* dims = std::get_if<Dims>(&a.data);
    if (dims != nullptr && !std::ranges::all_of(*dims, &Dim::is_const)) return false;
  }
  return has_trait(n.op, Trait::foldable);
}

/// True for ops that take next to no work where their result is read.
bool is_trivial(Op op) {
  return is_view(op) || op_record(op).max_inputs == 0;
}

class Folder {
 public:
  explicit Folder(Program& program) : program_(program), folded_states_(program.states.size()) {
    std::uint64_t weights = 0;
    for (const Storage& s : program.storages) weights += std::min(s.size, std::uint64_t{1} << 40);
    budget_ += weights * 8;
    max_work_ += std::min(weights * 16, std::uint64_t{256} << 20);
  }

  void run() {
    move_into_branches(program_, folded_states_);
    folded_states_.resize(program_.states.size());
    fold_batch_norms(program_, folded_states_);
    for (std::uint32_t f = 0; f < program_.functions.size(); ++f) fold(f);
    folded_states_.resize(program_.states.size());
    fold_attention_masks(program_, is_foldable, max_work_, budget_, folded_states_);
    std::string names;
    for (std::size_t s = 0; s < folded_states_.size(); ++s) {
      const std::string& name = program_.states[s].name;
      if (folded_states_[s] && !name.starts_with("export.")) names += (names.empty() ? "" : ", ") + name;
    }
    program_.metadata.emplace_back("folded", std::move(names));
    if (std::ranges::find(folded_states_, true) == folded_states_.end()) return;
    remove_unread_states(program_, folded_states_);
  }

 private:
  void fold(std::uint32_t function) {
    const Function f = program_.functions[function];  // a copy: constants are added to the function
    const ConstantPart constants(program_, f, is_foldable);
    std::set<ValueId> visited;
    for (ValueId v : constants.results()) {
      // A view costs nothing at its reader.
      while (constants.producer(v) >= 0) {
        const Node& n = f.nodes[static_cast<std::size_t>(constants.producer(v))];
        if (!is_view(n.op)) break;
        v = n.inputs[0];
      }
      if (constants.producer(v) < 0 || !visited.insert(v).second || !spend(8 * f.nodes.size())) continue;
      const ConstantSlice slice = constants.slice(v);
      if (!saves_bytes(f, constants.def_use(), v, slice)) continue;
      const std::uint64_t slice_cost = constants.cost(slice);
      if (slice_cost > max_work_ || slice_cost > budget_) continue;
      budget_ -= slice_cost;
      if (!constants.evaluate(v, slice, [&](const Tensor& value) { replace(function, v, value); })) continue;
      folded_states_.resize(program_.states.size());
      for (std::uint32_t s : slice.states) folded_states_[s] = true;
    }
  }

  /// True if the value takes work to compute, and is small, or not larger than the states that only its slice reads.
  bool saves_bytes(const Function& f, const DefUse& def_use, ValueId v, const ConstantSlice& slice) {
    const TensorType& type = f.values[static_cast<std::size_t>(v)].type;
    std::uint64_t bytes = 0;
    if (slice.nodes.empty() || type.quantized() || !byte_size(type, &bytes)) return false;
    if (std::ranges::all_of(slice.nodes, [&](std::size_t i) { return is_trivial(f.nodes[i].op); })) return false;
    if (bytes <= kSmallConstant && grow(slice.states, bytes)) return true;
    std::uint64_t replaced = 0;
    for (const FunctionInput& input : f.inputs) {
      if (input.kind != FunctionInput::Kind::state || !std::ranges::binary_search(slice.states, input.state)) continue;
      std::uint64_t size = 0;
      if (!read_elsewhere(f, def_use, input, slice) && byte_size(program_.states[input.state].type, &size))
        replaced += size;
    }
    return bytes <= replaced;
  }

  /// Counts the small constants of a large state, such as its slices, against the size of one: they would repeat all of
  /// the state piece by piece.
  bool grow(const std::vector<std::uint32_t>& states, std::uint64_t bytes) {
    const auto large = [&](std::uint32_t s) {
      return program_.storages[program_.states[s].storage].size > kSmallConstant;
    };
    const auto full = [&](std::uint32_t s) { return large(s) && added_bytes_[s] + bytes > kSmallConstant; };
    if (std::ranges::any_of(states, full)) return false;
    for (const std::uint32_t s : states) added_bytes_[s] += bytes;
    return true;
  }

  /// Accounts for work on the program itself: each constant costs time linear in the program's size.
  bool spend(std::uint64_t slice_cost) {
    if (slice_cost > budget_) return false;
    budget_ -= slice_cost;
    return true;
  }

  bool read_elsewhere(const Function& f, const DefUse& def_use, const FunctionInput& state,
                      const ConstantSlice& slice) {
    if (!spend(8 * (f.nodes.size() + program_.states.size()))) return true;
    const auto in_slice = [&](const ValueReader& r) { return std::ranges::binary_search(slice.nodes, r.node); };
    if (def_use.result_count(state.value) > 0 || !std::ranges::all_of(def_use.readers(state.value), in_slice))
      return true;
    const State& s = program_.states[state.state];
    for (std::uint32_t other_index = 0; other_index < program_.states.size(); ++other_index) {
      const State& o = program_.states[other_index];
      if (other_index != state.state && o.storage == s.storage) return true;
    }
    return std::ranges::any_of(program_.functions, [&](const Function& g) {
      return &g != &f && g.name != f.name && std::ranges::any_of(g.inputs, [&](const FunctionInput& input) {
        return input.kind == FunctionInput::Kind::state && input.state == state.state;
      });
    });
  }

  /// Replaces `v` by a constant.
  void replace(std::uint32_t function, ValueId v, const Tensor& value) {
    Builder b(program_, function);
    const std::vector<std::int64_t> sizes(value.sizes().begin(), value.sizes().end());
    const ValueId constant = add_constant(b, value.dtype(), sizes, value.data());
    use_instead(program_.functions[function], v, constant);
  }

  Program& program_;
  std::vector<bool> folded_states_;                     ///< states with derived constants
  std::map<std::uint32_t, std::uint64_t> added_bytes_;  ///< bytes of small constants of a state
  std::uint64_t max_work_ = kMostWork, budget_ = kAllWork;
};

}  // namespace

void fold_constants(Program& program) {
  Folder(program).run();
}

}  // namespace tern
