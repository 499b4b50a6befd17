#include <fmt/format.h>
#include <tern/tensor.h>

#include <algorithm>
#include <map>
#include <utility>

#include "exporter/constants.h"
#include "exporter/passes/constant_part.h"
#include "exporter/passes/passes.h"
#include "exporter/passes/quantized/candidates.h"
#include "exporter/passes/quantized/fit.h"
#include "exporter/passes/quantized/numbers.h"
#include "exporter/passes/quantized/reads.h"
#include "exporter/passes/quantized/sparse.h"
#include "exporter/rewrite.h"
#include "schema/passes/unread_states.h"

namespace tern {
namespace {

using namespace quantized;

constexpr std::int64_t kProductsLeast = 16;  // elements of a weight that is worth it
constexpr int kMostPairs = 16;               // pairs of scales and zero points
constexpr std::uint64_t kMostCountedBytes = std::uint64_t{1} << 40;

class ProductQuantizer {
 public:
  explicit ProductQuantizer(Program& program) : program_(program), candidates_(program.states.size()) {
    std::uint64_t weights = 0;
    for (const Storage& s : program.storages) weights += std::min(s.size, kMostCountedBytes);
    budget_ = (std::uint64_t{1} << 24) + weights * 1024;
  }

  /// Rewrites all nodes, or nodes that read tables alone.
  void run(bool tables) {
    bool is_changed = false;
    for (std::uint32_t f = 0; f < program_.functions.size(); ++f) is_changed = run(f, tables) || is_changed;
    if (!is_changed) return;
    remove_unread_states(program_, candidates_);
    for (const auto& [result, name] : names_) rename(result, name);
  }

 private:
  struct Found {
    std::size_t node;
    WeightRead weight_read;
    std::uint32_t state;
  };

  bool run(std::uint32_t number, bool tables) {
    const Function f = program_.functions[number];  // a copy: states are added to the function
    const ConstantPart constants(program_, f);
    std::vector<Found> reads_found;
    states_.clear();
    const std::vector<bool> chosen = tables ? table_readers(f, constants) : std::vector<bool>(f.nodes.size(), true);
    for (std::size_t i = 0; i < f.nodes.size(); ++i) {
      const Node& n = f.nodes[i];
      const std::optional<WeightRead> weight_read = chosen[i] ? read_of(f, n) : std::nullopt;
      if (!weight_read) continue;
      const ValueId v = n.inputs[weight_read->operand];
      if (!constants.constant(v) || constants.producer(v) < 0) continue;
      if (const std::int64_t state = state_of(f, constants, v, *weight_read); state >= 0)
        reads_found.push_back({i, *weight_read, static_cast<std::uint32_t>(state)});
    }
    if (reads_found.empty()) return false;
    Builder b(program_, number);
    std::vector<Node> nodes = std::exchange(b.function().nodes, {});
    auto next = reads_found.begin();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (next != reads_found.end() && next->node == i) {
        read_instead(b, nodes[i], next->weight_read.operand, value_of_state(program_, b.function(), next->state));
        ++next;
      }
      b.function().nodes.push_back(std::move(nodes[i]));
    }
    return true;
  }

  static const TensorType& type(const Function& f, ValueId v) { return f.values[static_cast<std::size_t>(v)].type; }

  /// Quantized state with the numbers of `v` in the node's reading, added if missing, or -1.
  std::int64_t state_of(const Function& f, const ConstantPart& constants, ValueId v, const WeightRead& weight_read) {
    if (const std::int64_t state = dequantized(f, constants, v, weight_read); state >= 0) return state;
    const ConstantSlice slice = constants.slice(v);
    if (slice.nodes.empty() || slice.states.empty()) return -1;  // numbers without states have no bytes to save
    for (std::uint32_t s : slice.states) candidates_[s] = true;
    const std::pair key{v, weight_read.is_transposed};
    if (const auto cached = states_.find(key); cached != states_.end()) return cached->second;
    const std::uint64_t slice_cost = constants.cost(slice);
    if (slice_cost > budget_ || weight_read.rows * weight_read.columns < kProductsLeast) return -1;
    budget_ -= slice_cost;
    const std::optional<Fitted> fitted = find(f, constants, slice, v, weight_read);
    const std::int64_t state = fitted ? add_state(*fitted, weight_read, slice) : std::int64_t{-1};
    states_.emplace(key, state);
    return state;
  }

  /// State behind dequantize, if only views lead from there to the node's matrix.
  std::int64_t dequantized(const Function& f, const ConstantPart& constants, ValueId v, const WeightRead& weight_read) {
    bool transposed = false;
    for (std::int64_t producer = constants.producer(v); producer >= 0;) {
      const Node& n = f.nodes[static_cast<std::size_t>(producer)];
      if (n.op == Op::permute && weight_read.is_transposed && swaps_last_axes(n)) {
        transposed = !transposed;
      } else if (n.op == Op::reshape && !weight_read.is_transposed &&
                 type(f, n.inputs[0]).shape == shape_of(weight_read)) {
        // A convolution's kernel as a row.
      } else if (n.op == Op::dequantize) {
        const std::int64_t state = constants.state(n.inputs[0]);
        const bool matches_read =
            transposed == weight_read.is_transposed && type(f, n.inputs[0]).shape == shape_of(weight_read);
        return matches_read ? state : -1;
      } else {
        return -1;
      }
      producer = constants.producer(n.inputs[0]);
    }
    return -1;
  }

  static Dims shape_of(const WeightRead& weight_read) { return {weight_read.shape.begin(), weight_read.shape.end()}; }

  static bool swaps_last_axes(const Node& n) {
    const Dims& axes = n.dims(AttrKey::axes);
    const auto rank = std::ssize(axes);
    if (rank < 2) return false;
    for (std::ptrdiff_t i = 0; i < rank; ++i) {
      const std::ptrdiff_t expected_axis = i < rank - 2 ? i : 2 * rank - 3 - i;
      if ((axes[static_cast<std::size_t>(i)].value() + rank) % rank != expected_axis) return false;
    }
    return true;
  }

  std::optional<Fitted> find(const Function& f, const ConstantPart& constants, const ConstantSlice& slice, ValueId v,
                             const WeightRead& weight_read) {
    const TensorType& t = type(f, v);
    WeightMatrix matrix{{}, t.dtype, weight_read.rows, weight_read.columns};
    const std::vector<PerBlock> scales =
        scale_candidates(program_, f, constants, slice, {weight_read.rows, weight_read.columns, weight_read.planes});
    const bool sparse = weight_read.is_transposed && is_sparse_element(t.dtype) && is_stored_smaller(slice, matrix);
    if (scales.empty() && !sparse) return std::nullopt;
    const auto take_numbers = [&](const Tensor& value) {
      matrix.values = weight_read.is_transposed ? numbers_by_columns(value, weight_read.planes) : numbers_of(value);
    };
    if (!constants.evaluate(v, slice, take_numbers)) return std::nullopt;
    for (const PerBlock& s : scales) {
      if (auto fitted = fit(matrix, s)) return fitted;
    }
    if (sparse) {
      if (auto fitted = fit_two_of_four(matrix)) return fitted;
    }
    int pairs = 0;
    for (const PerBlock& s : scales) {
      for (const PerBlock& z : scales) {
        if (&s == &z || !is_quantized_zero(z.type) || s.rows != z.rows || s.columns != z.columns) continue;
        if (++pairs > kMostPairs) return std::nullopt;
        if (auto fitted = fit(matrix, s, z)) return fitted;
      }
    }
    return std::nullopt;
  }

  /// True if the operands of the computation take fewer bytes: a program that keeps zeros has no 2:4 sparse value.
  bool is_stored_smaller(const ConstantSlice& slice, const WeightMatrix& n) const {
    std::uint64_t bytes = 0;
    for (const std::uint32_t s : slice.states) bytes += program_.storages[program_.states[s].storage].size;
    return bytes < static_cast<std::uint64_t>(n.rows * n.columns * element_size(n.type));
  }

  /// Tied weights share a state.
  std::optional<std::uint32_t> equal_state(const TensorType& type, const std::vector<std::byte>& bytes) const {
    for (const std::uint32_t s : added_states_) {
      const State& state = program_.states[s];
      if (state.type == type && std::ranges::equal(program_.source->bytes(state.storage), bytes)) return s;
    }
    return std::nullopt;
  }

  std::uint32_t add_state(const Fitted& fitted, const WeightRead& weight_read, const ConstantSlice& slice) {
    const TensorType type{fitted.element, shape_of(weight_read), fitted.blocks};
    if (const auto equal = equal_state(type, fitted.bytes)) return *equal;
    // Takes the name of the largest original state.
    const State* largest = nullptr;
    for (std::uint32_t s : slice.states) {
      const State& state = program_.states[s];
      if (largest == nullptr || program_.storages[state.storage].size > program_.storages[largest->storage].size)
        largest = &state;
    }
    State state;
    state.name = fmt::format("{}.quantized{}", largest->name, names_.empty() ? "" : std::to_string(names_.size()));
    names_.emplace_back(state.name, largest->name);
    state.kind = largest->kind;
    state.persistent = largest->persistent;
    state.type = type;
    state.strides = row_major(type.shape);
    state.storage = add_storage(program_, fitted.bytes);
    program_.states.push_back(std::move(state));
    added_states_.push_back(static_cast<std::uint32_t>(program_.states.size() - 1));
    return added_states_.back();
  }

  /// Gives the quantized state its original state's name, if free.
  void rename(const std::string& result, const std::string& name) {
    const auto called = [&](const std::string& n) { return std::ranges::find(program_.states, n, &State::name); };
    if (called(name) != program_.states.end() || called(result) == program_.states.end()) return;
    called(result)->name = name;
    for (Function& f : program_.functions) {
      for (FunctionInput& input : f.inputs) {
        if (input.name == result) input.name = name;
      }
    }
  }

  Program& program_;
  std::vector<bool> candidates_;  ///< states possibly unread after the pass
  std::uint64_t budget_ = 0;
  /// States of the current function's values, by columns or not; -1: none.
  std::map<std::pair<ValueId, bool>, std::int64_t> states_;
  std::vector<std::uint32_t> added_states_;
  std::vector<std::pair<std::string, std::string>> names_;
};

}  // namespace

void read_quantized_tables(Program& program) {
  ProductQuantizer(program).run(true);
}

void read_quantized_weights(Program& program) {
  ProductQuantizer(program).run(false);
}

}  // namespace tern
