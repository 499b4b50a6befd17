#include "exporter/quantized/products.h"

#include <fmt/format.h>
#include <tern/error.h>
#include <tern/tensor.h>

#include <algorithm>
#include <map>

#include "exporter/constant_part.h"
#include "exporter/constants.h"
#include "exporter/quantized/candidates.h"
#include "exporter/quantized/fit.h"
#include "exporter/quantized/numbers.h"
#include "exporter/rewrite.h"
#include "schema/passes/dead_code.h"
#include "schema/passes/unread_states.h"

namespace tern {
namespace {

using namespace quantized;

constexpr std::int64_t kLeast = 16;  // elements of a weight that is worth it
constexpr int kMostPairs = 16;       // of scales and zero points
constexpr std::uint64_t kMostWork = std::uint64_t{1} << 40;

class Products {
 public:
  explicit Products(Program& program) : program_(program), candidates_(program.states.size()) {
    std::uint64_t weights = 0;
    for (const Storage& s : program.storages) weights += std::min(s.size, kMostWork);
    budget_ = (std::uint64_t{1} << 24) + weights * 1024;
  }

  void run() {
    bool any = false;
    for (std::uint32_t f = 0; f < program_.functions.size(); ++f) any = run(f) || any;
    if (!any) return;
    remove_dead_code(program_);
    candidates_.resize(program_.states.size());
    remove_unread_states(program_, candidates_);
    remove_dead_code(program_);  // numbers values without those of the inputs that went
    for (const auto& [made, name] : names_) rename(made, name);
  }

 private:
  struct Found {
    std::size_t node;
    std::uint32_t state;
  };

  bool run(std::uint32_t number) {
    const Function f = program_.functions[number];  // as it was: states are added to it
    const ConstantPart part(program_, f);
    std::vector<Found> all;
    made_.clear();
    for (std::size_t i = 0; i < f.nodes.size(); ++i) {
      const Node& n = f.nodes[i];
      if (n.op != Op::matmul || !part.constant(n.inputs[1]) || part.producer(n.inputs[1]) < 0) continue;
      const DType a = type(f, n.inputs[0]).dtype;
      if (a != DType::f32 && a != DType::f16 && a != DType::bf16) continue;
      if (const std::int64_t state = state_of(f, part, n.inputs[1]); state >= 0)
        all.push_back({i, static_cast<std::uint32_t>(state)});
    }
    Function& now = program_.functions[number];
    for (const Found& found : all) now.nodes[found.node].inputs[1] = value_of_state(program_, now, found.state);
    return !all.empty();
  }

  static const TensorType& type(const Function& f, ValueId v) { return f.values[static_cast<std::size_t>(v)].type; }

  /// The quantized state that is `v` by columns, or -1. It is made if there is none yet.
  std::int64_t state_of(const Function& f, const ConstantPart& part, ValueId v) {
    const TensorType& t = type(f, v);
    if (t.rank() != 2 || !is_floating(t.dtype) || element_size(t.dtype) > 4) return -1;
    if (const std::int64_t state = dequantized(f, part, v); state >= 0) return state;
    const ConstantSlice slice = part.slice(v);
    if (slice.nodes.empty()) return -1;
    for (std::uint32_t s : slice.states) candidates_[s] = true;
    if (const auto known = made_.find(v); known != made_.end()) return known->second;
    const std::uint64_t work = part.work(slice);
    if (work > budget_ || t.shape[0].value() * t.shape[1].value() < kLeast) return -1;
    budget_ -= work;
    const std::optional<Fitted> fitted = find(f, part, slice, v);
    const std::int64_t state =
        fitted ? add_state(*fitted, {t.shape[1].value(), t.shape[0].value()}, slice) : std::int64_t{-1};
    made_.emplace(v, state);
    return state;
  }

  /// The state behind dequantize, where only a transposition lies between.
  std::int64_t dequantized(const Function& f, const ConstantPart& part, ValueId v) {
    bool transposed = false;
    for (std::int64_t at = part.producer(v); at >= 0;) {
      const Node& n = f.nodes[static_cast<std::size_t>(at)];
      if (n.op == Op::permute && type(f, n.inputs[0]).rank() == 2) {
        const Dims& axes = n.dims(AttrKey::axes);
        transposed = transposed != ((axes[0].value() + 2) % 2 == 1);
      } else if (n.op == Op::dequantize || n.op == Op::mx_dequantize) {
        const std::int64_t state = part.state(n.inputs[0]);
        return transposed && state >= 0 && type(f, n.inputs[0]).rank() == 2 ? state : -1;
      } else {
        return -1;
      }
      at = part.producer(n.inputs[0]);
    }
    return -1;
  }

  std::optional<Fitted> find(const Function& f, const ConstantPart& part, const ConstantSlice& slice, ValueId v) {
    const TensorType& t = type(f, v);
    Numbers numbers{{}, t.dtype, t.shape[1].value(), t.shape[0].value()};
    const std::vector<PerBlock> scales = scale_candidates(program_, f, part, slice, {numbers.rows, numbers.columns});
    if (scales.empty()) return std::nullopt;
    try {
      part.evaluate(v, slice, [&](const Tensor& value) { numbers.values = numbers_by_columns(value); });
    } catch (const Error&) {
      return std::nullopt;  // whatever is wrong with the program, its user will be told when it runs
    }
    for (const PerBlock& s : scales) {
      if (auto fitted = fit(numbers, s)) return fitted;
    }
    int pairs = 0;
    for (const PerBlock& s : scales) {
      for (const PerBlock& z : scales) {
        if (&s == &z || !is_quantized_zero(z.type) || s.rows != z.rows || s.columns != z.columns) continue;
        if (++pairs > kMostPairs) return std::nullopt;
        if (auto fitted = fit(numbers, s, z)) return fitted;
      }
    }
    return std::nullopt;
  }

  std::uint32_t add_state(const Fitted& fitted, WeightSizes sizes, const ConstantSlice& slice) {
    // Named after the largest of the states that it stands for.
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
    state.type = {fitted.element, {sizes.rows, sizes.columns}, fitted.blocks};
    state.strides = {sizes.columns, 1};
    state.storage = add_storage(program_, fitted.bytes);
    program_.states.push_back(std::move(state));
    return static_cast<std::uint32_t>(program_.states.size() - 1);
  }

  /// The quantized state takes the name of the one whose numbers it has, if that is gone.
  void rename(const std::string& made, const std::string& name) {
    const auto called = [&](const std::string& n) { return std::ranges::find(program_.states, n, &State::name); };
    if (called(name) != program_.states.end() || called(made) == program_.states.end()) return;
    called(made)->name = name;
    for (Function& f : program_.functions) {
      for (FunctionInput& in : f.inputs) {
        if (in.name == made) in.name = name;
      }
    }
  }

  Program& program_;
  std::vector<bool> candidates_;  ///< states that may be unread then
  std::uint64_t budget_ = 0;
  std::map<ValueId, std::int64_t> made_;  ///< of the function that is looked at: the state of a value, or -1
  std::vector<std::pair<std::string, std::string>> names_;
};

}  // namespace

void read_quantized_weights(Program& program) {
  Products(program).run();
}

}  // namespace tern
