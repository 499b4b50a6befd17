#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "exporter/builder.h"
#include "exporter/constants.h"
#include "exporter/passes/passes.h"
#include "exporter/passes/quantize/activations.h"
#include "exporter/passes/quantize/matrix.h"
#include "exporter/passes/quantize/sample_data.h"
#include "exporter/passes/quantize/uses.h"
#include "exporter/passes/quantized/reads.h"
#include "exporter/rewrite.h"
#include "schema/node_pattern.h"
#include "schema/node_precision.h"
#include "schema/op_record.h"
#include "schema/passes/unread_states.h"

namespace tern {
namespace {

using namespace quantize;

constexpr std::int64_t kQuantizeWeightsLeast = 256;  // elements of a weight that is worth it

/// States of one quantized matrix, all views of one storage; unneeded ones are absent.
struct QuantizedStates {
  TensorType type;
  Recipe recipe;
  std::optional<std::uint32_t> quantized;
  std::optional<std::uint32_t> elements, scales;  ///< factors of products of elements, and a scale for each row
};

const Node& node_of(const Program& program, const WeightUse& u) {
  return program.functions[u.function].nodes[u.node];
}

std::string module_of(const Program& program, const Node& n) {
  return n.origin >= 0 ? program.origins[static_cast<std::size_t>(n.origin)].module : std::string();
}

/// Fails if a pattern matches none of the nodes that `accepts` accepts.
template <class Takes>
void check_pattern(const Program& program, const std::string& option, const std::string& pattern, Takes accepts,
                   const char* requirement) {
  for (const Function& f : program.functions) {
    for (const Node& n : f.nodes) {
      if (accepts(n) && matches(program, n, pattern)) return;
    }
  }
  fail(ErrorCode::invalid_argument,
       fmt::format("{}: no {} has a module path, ATen operator or op that matches '{}'; 'tern inspect --nodes' shows "
                   "them",
                   option, requirement, pattern));
}

class Quantizer {
 public:
  Quantizer(Program& program, const std::vector<QuantizeRule>& rules,
            const std::vector<std::string>& full_precision_nodes, const QuantizeChoices& choices,
            const SampleData* samples)
      : program_(program),
        rules_(rules),
        full_precision_nodes_(full_precision_nodes),
        choices_(choices),
        samples_(samples) {}

  QuantizeReport run() {
    const auto reads_weight = [](const Node& n) {
      return has_precision(n.op) || n.op == Op::index_select || n.op == Op::grouped_matmul || n.op == Op::embedding_bag;
    };
    for (const std::string& k : full_precision_nodes_)
      check_pattern(program_, "keep", k, reads_weight, "product, convolution, attention or embedding");
    for (const QuantizeRule& r : rules_) {
      if (!r.pattern.empty()) check_pattern(program_, "quantize", r.pattern, reads_weight, "product or embedding");
    }
    std::vector<bool> floats(program_.states.size());
    std::map<std::uint32_t, std::map<std::size_t, const WeightUse*>>
        uses_by_node;  // uses that change, by function and node
    std::map<std::uint32_t, Weight> weights = weights_of(program_);
    for (auto& [storage, w] : weights) {
      const Recipe recipe = recipe_of(w);
      if (const std::string reason = reason_to_stay(w, storage, recipe); recipe.format == nullptr || !reason.empty()) {
        // Tables made by the exporter are nobody's weights.
        const bool result = program_.states[w.state].kind == State::Kind::constant && w.uses.empty();
        if (!result && elements(w, storage) >= kQuantizeWeightsLeast)
          report_.unquantized.push_back({program_.states[w.state].name, reason, program_.storages[storage].size});
        continue;
      }
      quantize_weight(w, storage, recipe);
      for (const WeightUse& u : w.uses) uses_by_node[u.function][u.node] = &u;
      for (std::size_t s = 0; s < floats.size(); ++s) {
        if (program_.states[s].storage == storage) floats[s] = true;
      }
    }
    if (report_.weights.empty()) return report_;
    for (const auto& [function, changed_uses] : uses_by_node) rewrite(function, changed_uses);
    remove_unread_states(program_, floats);
    return report_;
  }

 private:
  const QuantizeChoice* choice_of(const Weight& w) const {
    const auto found = choices_.find(program_.states[w.state].name);
    return found == choices_.end() ? nullptr : &found->second;
  }

  /// The choice for the weight, or the recipe of the last rule that matches a node; has no format if no rule does.
  Recipe recipe_of(const Weight& w) const {
    if (const QuantizeChoice* chosen = choice_of(w)) return chosen->recipe;
    Recipe found;
    for (const bool product : {true, false}) {
      for (const WeightUse& u : w.uses) {
        if (found.format != nullptr || u.product != product) continue;
        for (const QuantizeRule& r : rules_) {
          if (r.pattern.empty() || matches(program_, node_of(program_, u), r.pattern)) found = r.recipe;
        }
      }
    }
    return found;
  }

  /// True for products of quantized rows and elements, with the scales behind them.
  static bool multiplies_elements(const Node& n, const WeightUse& u, const Recipe& recipe) {
    return (recipe.activations == Activations::int8 || recipe.activations == Activations::float8) &&
           n.op == Op::matmul && !u.matrix.batched;
  }
  static bool microscales_rows(const Node& n, const WeightUse& u, const Recipe& recipe) {
    return recipe.activations == Activations::mx && u.product && n.op != Op::convolution;
  }

  std::int64_t elements(const Weight& w, std::uint32_t storage) const {
    return static_cast<std::int64_t>(program_.storages[storage].size) / element_size(w.type);
  }

  std::string reason_to_stay(const Weight& w, std::uint32_t storage, const Recipe& recipe) const {
    if (!w.obstacle.empty()) return w.obstacle;
    for (const WeightUse& u : w.uses) {
      for (const std::string& k : full_precision_nodes_) {
        if (matches(program_, node_of(program_, u), k)) return fmt::format("'{}' keeps it", k);
      }
    }
    if (recipe.format == nullptr) {
      const QuantizeChoice* const chosen = choice_of(w);
      return chosen != nullptr && !chosen->reason.empty() ? chosen->reason : "no format is given for it";
    }
    std::map<MatrixPart, std::int64_t> bytes;
    for (const WeightUse& u : w.uses) {
      const MatrixPart& p = u.matrix;
      if (p.rows < 1 || p.columns < 1 || p.planes < 1) return "it is empty";
      const std::int64_t last =
          p.offset + (p.planes - 1) * p.plane_stride + (p.rows - 1) * p.row_stride + (p.columns - 1) * p.column_stride;
      if (last >= elements(w, storage)) return "it is larger than its storage";
      const Blocks blocks = blocks_of(recipe, w.type, p.columns);
      if (p.columns % blocks.columns != 0)
        return fmt::format("its rows of {} elements are not divisible by blocks of {}", p.columns, blocks.columns);
      if (microscales_rows(node_of(program_, u), u, recipe) && p.columns % kActivationBlock != 0)
        return fmt::format("its rows of {} elements are not divisible by the activations' blocks of {}", p.columns,
                           kActivationBlock);
      if (p.columns % elements_per_byte(recipe.format->element) != 0) return "its rows have an odd number of elements";
      bytes[p] = QuantizedMatrix{recipe.format->element, p.planes * p.rows, p.columns, blocks}.bytes();
    }
    std::int64_t total_bytes = 0;
    for (const auto& [part, size] : bytes) total_bytes += size;
    if (elements(w, storage) < kQuantizeWeightsLeast)
      return fmt::format("it has fewer than {} elements", kQuantizeWeightsLeast);
    if (total_bytes >= static_cast<std::int64_t>(program_.storages[storage].size)) return "it would not become smaller";
    return {};
  }

  void quantize_weight(const Weight& w, std::uint32_t storage, const Recipe& recipe) {
    const State old_state = program_.states[w.state];
    for (State& s : program_.states) {
      if (s.storage != storage) continue;
      s.tied = -1;
      s.name += ".float";  // the new state has the name; this one is removed
    }
    const std::byte* const bytes = program_.source->bytes(storage).data();
    std::size_t count = 0;
    for (const WeightUse& u : w.uses) {
      const MatrixPart& p = u.matrix;
      const auto [it, fresh] = matrices_.try_emplace(p);
      QuantizedStates& m = it->second;
      if (fresh) {
        const FloatMatrix matrix{bytes + p.offset * element_size(w.type),
                                 w.type,
                                 p.planes * p.rows,
                                 p.columns,
                                 p.row_stride,
                                 p.column_stride,
                                 p.rows,
                                 p.plane_stride};
        Quantized q = quantized_part(matrix, recipe, WeightPart(old_state.name, p));
        m.recipe = recipe;
        m.type = {recipe.format->element, {p.rows, p.columns}, q.blocks};
        if (p.batched) m.type.shape.insert(m.type.shape.begin(), Dim(p.planes));
        const std::string name = count++ == 0 ? old_state.name : fmt::format("{}.{}", old_state.name, count);
        report_.weights.push_back(
            {name, module_of(program_, node_of(program_, u)), old_state.name, readers_of(w, p), recipe,
             std::string(recipe.format->name), matrix.rows, p.columns, q.error.sqnr(), q.error.cosine(),
             static_cast<std::uint64_t>(matrix.rows * p.columns * element_size(w.type)), q.bytes.size()});
        add_states(m, w, p, name, old_state, recipe, std::move(q.bytes));
      }
    }
    program_.source->release(storage);
  }

  Quantized quantized_part(const FloatMatrix& matrix, const Recipe& recipe, const WeightPart& matrix_part) const {
    if (samples_ == nullptr) return quantize::quantize(matrix, recipe);
    const auto encoded = samples_->encoded.find(matrix_part);
    if (encoded != samples_->encoded.end() && encoded->second.recipe == recipe) {
      const Quantized& found = encoded->second.quantized;
      Quantized copy{found.blocks, RawBytes(found.bytes.size()), found.error};
      std::memcpy(copy.bytes.data(), found.bytes.data(), found.bytes.size());
      return copy;
    }
    const auto importance = samples_->importance.find(matrix_part);
    if (importance == samples_->importance.end()) return quantize::quantize(matrix, recipe);
    return quantize::quantize(matrix, recipe, importance->second);
  }

  static std::vector<WeightReader> readers_of(const Weight& w, const MatrixPart& matrix_part) {
    std::vector<WeightReader> readers;
    for (const WeightUse& u : w.uses) {
      if (u.matrix == matrix_part) readers.push_back({u.function, static_cast<std::uint32_t>(u.node)});
    }
    return readers;
  }

  /// Adds a state for the quantized value, and states for the elements and scales of products of elements: all are
  /// views of one storage.
  void add_states(QuantizedStates& m, const Weight& w, const MatrixPart& matrix_part, const std::string& name,
                  const State& old_state, const Recipe& recipe, RawBytes bytes) {
    const QuantizedMatrix layout = quantized_matrix(m.type);
    const std::uint32_t storage = add_storage(program_, std::move(bytes));
    const auto add = [&](const std::string& called, const TensorType& type, std::int64_t offset) {
      State s;
      s.name = called;
      while (std::ranges::find(program_.states, s.name, &State::name) != program_.states.end()) s.name += '_';
      s.kind = old_state.kind;
      s.persistent = old_state.persistent;
      s.type = type;
      s.strides = row_major(type.shape);
      s.offset = offset;
      s.storage = storage;
      program_.states.push_back(std::move(s));
      return static_cast<std::uint32_t>(program_.states.size() - 1);
    };
    const auto has_reader = [&](bool elements) {
      return std::ranges::any_of(w.uses, [&](const WeightUse& u) {
        return u.matrix == matrix_part && multiplies_elements(node_of(program_, u), u, recipe) == elements;
      });
    };
    if (has_reader(false)) m.quantized = add(name, m.type, 0);
    if (!has_reader(true)) return;
    m.elements = add(name + ".qdata", {m.type.dtype, {layout.rows, layout.columns}, {}}, 0);
    m.scales = add(name + ".scale", {m.type.blocks.scale, {layout.rows}, {}},
                   layout.scale_offset() / element_size(m.type.blocks.scale));
  }

  void rewrite(std::uint32_t function, const std::map<std::size_t, const WeightUse*>& changed_uses) {
    Builder b(program_, function);
    const std::vector<Node> old_nodes = std::exchange(b.function().nodes, {});
    Activated activated;
    for (std::size_t i = 0; i < old_nodes.size(); ++i) {
      const auto it = changed_uses.find(i);
      if (it == changed_uses.end()) {
        b.function().nodes.push_back(old_nodes[i]);
        continue;
      }
      b.set_origin(old_nodes[i].origin, old_nodes[i].annotations);
      read_made(b, old_nodes[i], *it->second, activated);
    }
  }

  /// Quantized activations, which nodes share.
  struct Activated {
    std::map<std::pair<ValueId, Activations>, QuantizedRows> rows;
    std::map<std::tuple<ValueId, DType, MxScales>, ValueId> microscaled;
  };

  void read_made(Builder& b, Node n, const WeightUse& u, Activated& activated) {
    const QuantizedStates& m = matrices_.at(u.matrix);
    const ValueId x = n.inputs[0];
    if (multiplies_elements(n, u, m.recipe)) {
      const auto [rows, fresh] = activated.rows.try_emplace({x, m.recipe.activations});
      if (fresh) rows->second = quantize_rows(b, x, m.recipe.activations);
      product_of_elements(b, n, rows->second, value_of_state(program_, b.function(), *m.elements),
                          value_of_state(program_, b.function(), *m.scales));
      b.function().nodes.back().outputs = n.outputs;
      return;
    }
    if (microscales_rows(n, u, m.recipe)) {
      const DType element = activation_element(*m.recipe.format);
      const auto [y, fresh] = activated.microscaled.try_emplace({x, element, m.recipe.mx_scales});
      if (fresh) y->second = microscaled(b, x, element, m.recipe.mx_scales);
      n.inputs[0] = y->second;
      n.set(AttrKey::dtype, Dims{static_cast<std::int64_t>(b.dtype(n.outputs[0]))});
    }
    quantized::read_instead(b, n, u.product ? 1 : 0, value_of_state(program_, b.function(), *m.quantized));
    b.function().nodes.push_back(std::move(n));
  }

  Program& program_;
  const std::vector<QuantizeRule>& rules_;
  const std::vector<std::string>& full_precision_nodes_;
  const QuantizeChoices& choices_;
  const SampleData* samples_;
  std::map<MatrixPart, QuantizedStates> matrices_;
  QuantizeReport report_;
};

}  // namespace

QuantizeReport quantize_weights(Program& program, const std::vector<QuantizeRule>& rules,
                                const std::vector<std::string>& full_precision_nodes, const QuantizeChoices& choices,
                                const SampleData* samples) {
  return Quantizer(program, rules, full_precision_nodes, choices, samples).run();
}

}  // namespace tern
