// Norms and activations of concatenated convolutions move into the branches, where the convolutions take them over.
#include <algorithm>
#include <map>

#include "exporter/builder.h"
#include "exporter/passes/fold/fold.h"
#include "schema/def_use.h"

namespace tern {
namespace {

constexpr std::int64_t kChannels = 1;  // axis of images

class Branches {
 public:
  Branches(Program& program, std::uint32_t function, std::vector<bool>& folded_states)
      : program_(program), function_(function), folded_states_(folded_states) {}

  void run() {
    find();
    if (!followers_.empty()) rewrite();
  }

 private:
  Function& function() const { return program_.functions[function_]; }
  const TensorType& type(ValueId v) const { return function().values[static_cast<std::size_t>(v)].type; }

  /// True if the node joins channels of convolutions that nothing else reads.
  bool joins_convolutions(const DefUse& def_use, const Node& n) const {
    if (n.op != Op::concat || n.inputs.size() < 2) return false;
    const std::int64_t axis = n.integer(AttrKey::axis), rank = type(n.outputs[0]).rank();
    if (rank < 3 || (axis < 0 ? axis + rank : axis) != kChannels) return false;
    return std::ranges::all_of(n.inputs, [&](ValueId v) {
      const Node* const source = def_use.producing_node(function(), v);
      return source != nullptr && source->op == Op::convolution && def_use.read_count(v) == 1 &&
             type(v).shape[kChannels].is_const();
    });
  }

  /// True for a batch norm with constant operands, and for a function of single elements.
  bool is_movable(const Node& n, ValueId x) const {
    if (n.outputs.size() != 1) return false;
    if (n.op == Op::pointwise) return n.inputs.size() == 1 && n.attrs.empty();
    return n.op == Op::batch_norm && n.inputs[0] == x &&
           std::ranges::all_of(n.inputs.begin() + 1, n.inputs.end(), [&](ValueId v) {
             const FunctionInput* const state = v == kNoValue ? nullptr : state_input(function(), v);
             return v == kNoValue || (state != nullptr && constant_numbers(program_, state->state));
           });
  }

  /// Finds concatenations with nodes that can move before them.
  void find() {
    const Function& f = function();
    const DefUse def_use(f);
    for (std::size_t i = 0; i < f.nodes.size(); ++i) {
      if (!joins_convolutions(def_use, f.nodes[i])) continue;
      ValueId joined = f.nodes[i].outputs[0];
      while (def_use.is_read_by_nodes(joined, 1)) {
        const std::size_t next = def_use.readers(joined)[0].node;
        if (!is_movable(f.nodes[next], joined)) break;
        followers_[i].push_back(next);
        joined = f.nodes[next].outputs[0];
      }
    }
  }

  void rewrite() {
    const std::vector<Node> old_nodes = function().nodes;
    std::vector<bool> is_moved(old_nodes.size());
    for (const auto& [concat, nodes] : followers_) {
      for (const std::size_t n : nodes) is_moved[n] = true;
    }
    std::vector<Node> new_nodes;
    for (std::size_t i = 0; i < old_nodes.size(); ++i) {
      if (is_moved[i]) continue;
      const auto found = followers_.find(i);
      if (found == followers_.end()) {
        new_nodes.push_back(old_nodes[i]);
        continue;
      }
      Node concat = old_nodes[i];
      std::int64_t first = 0;
      for (ValueId& branch : concat.inputs) {
        const std::int64_t channels = type(branch).shape[kChannels].value();
        for (const std::size_t n : found->second) {
          new_nodes.push_back(branch_node(old_nodes[n], branch, first, channels));
          branch = new_nodes.back().outputs[0];
        }
        first += channels;
      }
      concat.outputs = old_nodes[found->second.back()].outputs;
      new_nodes.push_back(std::move(concat));
    }
    function().nodes = std::move(new_nodes);
  }

  /// The node for channels [first, first + channels), which `branch` has.
  Node branch_node(Node n, ValueId branch, std::int64_t first, std::int64_t channels) {
    TensorType result = type(branch);
    result.dtype = type(n.outputs[0]).dtype;
    n.inputs[0] = branch;
    for (std::size_t i = 1; i < n.inputs.size(); ++i) {
      if (n.inputs[i] != kNoValue) n.inputs[i] = slice(n.inputs[i], first, channels);
    }
    n.outputs = {static_cast<ValueId>(function().values.size())};
    function().values.push_back({std::move(result), {}});
    return n;
  }

  /// Numbers [first, first + count) of a constant, as a constant of their own.
  ValueId slice(ValueId v, std::int64_t first, std::int64_t count) {
    const std::uint32_t state = state_input(function(), v)->state;
    folded_states_[state] = true;
    const std::vector<double> numbers = *constant_numbers(program_, state);
    const DType t = program_.states[state].type.dtype;
    Builder b(program_, function_);
    return add_numbers(b, t, {count},
                       std::span(numbers).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
  }

  Program& program_;
  std::uint32_t function_;
  std::vector<bool>& folded_states_;
  std::map<std::size_t, std::vector<std::size_t>> followers_;  ///< nodes that move, by concatenation
};

}  // namespace

void move_into_branches(Program& program, std::vector<bool>& folded_states) {
  for (std::uint32_t f = 0; f < program.functions.size(); ++f) Branches(program, f, folded_states).run();
}

}  // namespace tern
