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
    bool any = false;
    for (std::uint32_t f = 0; f < program_.functions.size(); ++f) any = run(f, tables) || any;
    if (!any) return;
    remove_unread_states(program_, candidates_);
    for (const auto& [result, name] : names_) rename(result, name);
  }

 private:
  struct Found {
    std::size_t node;
    Read read;
    std::uint32_t state;
  };

  bool run(std::uint32_t number, bool tables) {
    const Function f = program_.functions[number];  // a copy: states are added to the function
    const ConstantPart part(program_, f);
    std::vector<Found> all;
    states_.clear();
    const std::vector<bool> chosen = tables ? table_readers(f, part) : std::vector<bool>(f.nodes.size(), true);
    for (std::size_t i = 0; i < f.nodes.size(); ++i) {
      const Node& n = f.nodes[i];
      const std::optional<Read> read = chosen[i] ? read_of(f, n) : std::nullopt;
      if (!read) continue;
      const ValueId v = n.inputs[read->operand];
      if (!part.constant(v) || part.producer(v) < 0) continue;
      if (const std::int64_t state = state_of(f, part, v, *read); state >= 0)
        all.push_back({i, *read, static_cast<std::uint32_t>(state)});
    }
    if (all.empty()) return false;
    Builder b(program_, number);
    std::vector<Node> nodes = std::exchange(b.function().nodes, {});
    auto next = all.begin();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (next != all.end() && next->node == i) {
        read_instead(b, nodes[i], next->read.operand, value_of_state(program_, b.function(), next->state));
        ++next;
      }
      b.function().nodes.push_back(std::move(nodes[i]));
    }
    return true;
  }

  static const TensorType& type(const Function& f, ValueId v) { return f.values[static_cast<std::size_t>(v)].type; }

  /// Quantized state with the numbers of `v` in the node's reading, added if missing, or -1.
  std::int64_t state_of(const Function& f, const ConstantPart& part, ValueId v, const Read& read) {
    if (const std::int64_t state = dequantized(f, part, v, read); state >= 0) return state;
    const ConstantSlice slice = part.slice(v);
    if (slice.nodes.empty() || slice.states.empty()) return -1;  // numbers without states have no bytes to save
    for (std::uint32_t s : slice.states) candidates_[s] = true;
    const std::pair key{v, read.is_transposed};
    if (const auto cached = states_.find(key); cached != states_.end()) return cached->second;
    const std::uint64_t work = part.cost(slice);
    if (work > budget_ || read.rows * read.columns < kProductsLeast) return -1;
    budget_ -= work;
    const std::optional<Fitted> fitted = find(f, part, slice, v, read);
    const std::int64_t state = fitted ? add_state(*fitted, read, slice) : std::int64_t{-1};
    states_.emplace(key, state);
    return state;
  }

  /// State behind dequantize, if only views lead from there to the node's matrix.
  std::int64_t dequantized(const Function& f, const ConstantPart& part, ValueId v, const Read& read) {
    bool transposed = false;
    for (std::int64_t producer = part.producer(v); producer >= 0;) {
      const Node& n = f.nodes[static_cast<std::size_t>(producer)];
      if (n.op == Op::permute && read.is_transposed && swaps_last_axes(n)) {
        transposed = !transposed;
      } else if (n.op == Op::reshape && !read.is_transposed && type(f, n.inputs[0]).shape == shape_of(read)) {
        // A convolution's kernel as a row.
      } else if (n.op == Op::dequantize) {
        const std::int64_t state = part.state(n.inputs[0]);
        const bool fits = transposed == read.is_transposed && type(f, n.inputs[0]).shape == shape_of(read);
        return fits ? state : -1;
      } else {
        return -1;
      }
      producer = part.producer(n.inputs[0]);
    }
    return -1;
  }

  static Dims shape_of(const Read& read) { return {read.shape.begin(), read.shape.end()}; }

  static bool swaps_last_axes(const Node& n) {
    const Dims& axes = n.dims(AttrKey::axes);
    const auto rank = std::ssize(axes);
    if (rank < 2) return false;
    for (std::ptrdiff_t i = 0; i < rank; ++i) {
      const std::ptrdiff_t from = i < rank - 2 ? i : 2 * rank - 3 - i;
      if ((axes[static_cast<std::size_t>(i)].value() + rank) % rank != from) return false;
    }
    return true;
  }

  std::optional<Fitted> find(const Function& f, const ConstantPart& part, const ConstantSlice& slice, ValueId v,
                             const Read& read) {
    const TensorType& t = type(f, v);
    WeightMatrix matrix{{}, t.dtype, read.rows, read.columns};
    const std::vector<PerBlock> scales =
        scale_candidates(program_, f, part, slice, {read.rows, read.columns, read.planes});
    const bool sparse = read.is_transposed && is_sparse_element(t.dtype) && is_stored_smaller(slice, matrix);
    if (scales.empty() && !sparse) return std::nullopt;
    const auto take_numbers = [&](const Tensor& value) {
      matrix.values = read.is_transposed ? numbers_by_columns(value, read.planes) : numbers_of(value);
    };
    if (!part.evaluate(v, slice, take_numbers)) return std::nullopt;
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
    for (const std::uint32_t s : added_) {
      const State& state = program_.states[s];
      if (state.type == type && std::ranges::equal(program_.source->bytes(state.storage), bytes)) return s;
    }
    return std::nullopt;
  }

  std::uint32_t add_state(const Fitted& fitted, const Read& read, const ConstantSlice& slice) {
    const TensorType type{fitted.element, shape_of(read), fitted.blocks};
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
    added_.push_back(static_cast<std::uint32_t>(program_.states.size() - 1));
    return added_.back();
  }

  /// Gives the quantized state its original state's name, if free.
  void rename(const std::string& result, const std::string& name) {
    const auto called = [&](const std::string& n) { return std::ranges::find(program_.states, n, &State::name); };
    if (called(name) != program_.states.end() || called(result) == program_.states.end()) return;
    called(result)->name = name;
    for (Function& f : program_.functions) {
      for (FunctionInput& in : f.inputs) {
        if (in.name == result) in.name = name;
      }
    }
  }

  Program& program_;
  std::vector<bool> candidates_;  ///< states possibly unread after the pass
  std::uint64_t budget_ = 0;
  /// States of the current function's values, by columns or not; -1: none.
  std::map<std::pair<ValueId, bool>, std::int64_t> states_;
  std::vector<std::uint32_t> added_;
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
