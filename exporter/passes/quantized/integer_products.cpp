#include <fmt/format.h>
#include <tern/tensor.h>

#include <algorithm>
#include <map>

#include "exporter/builder.h"
#include "exporter/constants.h"
#include "exporter/passes/constant_part.h"
#include "exporter/passes/passes.h"
#include "exporter/passes/quantized/affine.h"
#include "exporter/passes/quantized/candidates.h"
#include "exporter/passes/quantized/fit.h"
#include "exporter/passes/quantized/numbers.h"
#include "exporter/rewrite.h"
#include "schema/passes/unread_states.h"

namespace tern {
namespace {

using namespace quantized;

/// A constant weight as integers: [n, k] of a product, [o, i / groups, kernel...] of a convolution.
struct IntegerWeight {
  std::uint32_t state = 0;
  std::vector<float> scales;  ///< a scale for each row, or a single one
  std::vector<float> sums;    ///< sum of each row's elements
};

/// The integers behind an operand.
struct IntegerOperand {
  Affine affine;
  std::vector<std::size_t> views;  ///< nodes from the affine node to the operand, in order
};

class IntegerProducts {
 public:
  explicit IntegerProducts(Program& program) : program_(program) {
    std::uint64_t weights = 0;
    for (const Storage& s : program.storages) weights += std::min(s.size, std::uint64_t{1} << 40);
    budget_ = (std::uint64_t{1} << 24) + weights * 1024;
  }

  void run() {
    maybe_unread_.resize(program_.states.size());
    for (std::uint32_t f = 0; f < program_.functions.size(); ++f) run(f);
    if (is_changed_) remove_unread_states(program_, maybe_unread_);
  }

 private:
  void run(std::uint32_t number) {
    const Function original = program_.functions[number];
    const ConstantPart constants(program_, original);
    const bool has_integer_product = std::ranges::any_of(original.nodes, [&](const Node& n) {
      return (n.op == Op::matmul || n.op == Op::convolution) && integer_source(original, constants, n.inputs[0]);
    });
    if (!has_integer_product) return;
    Builder b(program_, number);
    b.function().nodes.clear();
    std::map<ValueId, ValueId> instead;
    for (const Node& n : original.nodes) {
      b.set_origin(n.origin, n.annotations);
      if (n.op == Op::matmul || n.op == Op::convolution) {
        if (const ValueId result = multiply(b, original, constants, n); result != kNoValue) {
          instead.emplace(n.outputs[0], result);
          is_changed_ = true;
          continue;
        }
      }
      b.function().nodes.push_back(n);
    }
    use_instead(b.function(), instead);
  }

  static const TensorType& type(const Function& f, ValueId v) { return f.values[static_cast<std::size_t>(v)].type; }

  std::optional<IntegerOperand> integer_source(const Function& f, const ConstantPart& constants, ValueId v) const {
    IntegerOperand o;
    for (std::int64_t producer = constants.producer(v); producer >= 0;
         producer = constants.producer(f.nodes[static_cast<std::size_t>(producer)].inputs[0])) {
      const Node& n = f.nodes[static_cast<std::size_t>(producer)];
      if (n.op == Op::reshape || n.op == Op::permute) {
        o.views.insert(o.views.begin(), static_cast<std::size_t>(producer));
        continue;
      }
      const std::optional<Affine> affine = affine_of(f, n);
      if (!affine) return std::nullopt;
      o.affine = *affine;
      const TensorType& q = type(f, affine->integers);
      if (q.shape != type(f, n.outputs[0]).shape) return std::nullopt;
      for (const Parameter* p : {&affine->scale, &affine->zero}) {
        if (!serves(f, *p, q, o.views.empty())) return std::nullopt;
      }
      return o;
    }
    return std::nullopt;
  }

  /// True if the parameter is a number for all elements, or for each row.
  static bool serves(const Function& f, const Parameter& p, const TensorType& q, bool rows) {
    if (p.is_number()) return true;
    const Dims& shape = type(f, p.value).shape;
    if (std::ranges::all_of(shape, [](Dim d) { return d.is(1); })) return true;
    return rows && shape.size() == q.shape.size() && shape.back().is(1);
  }

  ValueId multiply(Builder& b, const Function& f, const ConstantPart& constants, const Node& n) {
    const bool convolves = n.op == Op::convolution;
    const TensorType& y = type(f, n.outputs[0]);
    if (y.dtype != DType::f32 || !constants.constant(n.inputs[1])) return kNoValue;
    const auto x = integer_source(f, constants, n.inputs[0]);
    if (!x || (convolves && !convolution_serves(n, *x))) return kNoValue;
    const std::optional<IntegerWeight> weight = weight_of(f, constants, n);
    if (!weight) return kNoValue;

    ValueId q = x->affine.integers;
    for (std::size_t index : x->views) {
      Node view = f.nodes[index];
      view.inputs = {q};
      view.outputs.clear();
      q = b.add(std::move(view)).front();
    }
    Node product = n;
    product.inputs = {q, value_of_state(program_, b.function(), weight->state)};
    if (!convolves) product.inputs[1] = b.transpose(product.inputs[1], 0, 1);
    product.outputs.clear();
    product.set(AttrKey::dtype, Dims{static_cast<std::int64_t>(DType::f32)});
    if (convolves) product.set(AttrKey::fill, Dims{Dim(static_cast<std::int64_t>(x->affine.zero.number))});
    const ValueId sums = b.add(std::move(product)).front();
    return scaled(b, *x, *weight, sums, convolves ? y.rank() - 2 : 0, n.inputs.size() > 2 ? n.inputs[2] : kNoValue);
  }

  /// Padding inserts the zero point, hence needs a known one.
  bool convolution_serves(const Node& n, const IntegerOperand& x) const {
    if (n.integer(AttrKey::transposed) != 0) return false;
    const Parameter& zero = x.affine.zero;
    const auto pads = [&](AttrKey key) { return std::ranges::any_of(n.dims(key), [](Dim d) { return !d.is(0); }); };
    if (zero.is_number()) return zero.number == static_cast<double>(static_cast<std::int64_t>(zero.number));
    return !pads(AttrKey::before) && !pads(AttrKey::after);
  }

  /// (sums - zero * row sums) * scale + bias; `trailing_axes`: number of axes behind the axis of channels.
  static ValueId scaled(Builder& b, const IntegerOperand& x, const IntegerWeight& w, ValueId sums, int trailing_axes,
                        ValueId bias) {
    const Affine& a = x.affine;
    const auto constant = [&](const std::vector<float>& numbers) {
      std::vector<std::int64_t> sizes(static_cast<std::size_t>(trailing_axes) + 1, 1);
      sizes[0] = std::ssize(numbers);
      return numbers.size() == 1 ? b.constant(DType::f32, {}, numbers.data())
                                 : b.constant(DType::f32, sizes, numbers.data());
    };
    const auto times = [](std::vector<float> numbers, double factor) {
      for (float& v : numbers) v = static_cast<float>(v * factor);
      return numbers;
    };
    std::vector<ExprArg> args = {{"p", sums}};
    std::string text = "p";
    if (!a.zero.is_number()) {
      text = "(p - zero * sums)";
      args.emplace_back("zero", a.zero.value);
      args.emplace_back("sums", constant(w.sums));
    } else if (a.zero.number != 0) {
      text = "(p - shift)";
      args.emplace_back("shift", constant(times(w.sums, a.zero.number)));
    }
    if (a.scale.is_number()) {
      text += " * scale";
      args.emplace_back("scale", constant(times(w.scales, a.scale.number)));
    } else {
      text += " * (scale * weight)";
      args.emplace_back("scale", a.scale.value);
      args.emplace_back("weight", constant(w.scales));
    }
    if (bias != kNoValue) {
      if (trailing_axes > 0) bias = b.reshape(bias, append_unit_axes(b, bias, trailing_axes));
      text += " + bias";
      args.emplace_back("bias", bias);
    }
    return b.expr(text, std::move(args), DType::f32);
  }

  static Dims append_unit_axes(Builder& b, ValueId v, int count) {
    Dims shape = b.shape(v);
    shape.insert(shape.end(), static_cast<std::size_t>(count), Dim(1));
    return shape;
  }

  std::optional<IntegerWeight> weight_of(const Function& f, const ConstantPart& constants, const Node& n) {
    const ValueId v = n.inputs[1];
    const TensorType& t = type(f, v);
    const bool convolves = n.op == Op::convolution;
    if (t.dtype != DType::f32 || t.quantized() || constants.producer(v) < 0 || (!convolves && t.rank() != 2))
      return std::nullopt;
    if (const auto cached = weights_.find({&f, v}); cached != weights_.end()) return cached->second;
    std::optional<IntegerWeight>& result = weights_[{&f, v}];
    const ConstantSlice slice = constants.slice(v);
    const std::uint64_t slice_cost = constants.cost(slice);
    if (slice.nodes.empty() || slice_cost > budget_) return std::nullopt;
    budget_ -= slice_cost;
    std::int64_t rows = t.shape[convolves ? 0 : 1].value(), element_count = 1;
    for (Dim d : t.shape) element_count *= d.value();
    if (element_count == 0) return std::nullopt;
    WeightMatrix matrix{{}, t.dtype, rows, element_count / rows};
    // Takes a row for each column of the product, or for each channel out.
    const auto take_numbers = [&](const Tensor& value) {
      matrix.values = convolves ? numbers_of(value) : numbers_by_columns(value);
    };
    if (!constants.evaluate(v, slice, take_numbers)) return std::nullopt;
    for (const PerBlock& scales : scale_candidates(program_, f, constants, slice, {rows, element_count / rows})) {
      const auto bytes = fit_bytes(matrix, scales);
      if (!bytes) continue;
      IntegerWeight w;
      w.scales = scales.values;
      for (std::int64_t r = 0; r < rows; ++r) {
        std::int64_t sum = 0;
        for (std::int64_t c = 0; c < matrix.columns; ++c)
          sum += (*bytes)[static_cast<std::size_t>(r * matrix.columns + c)];
        w.sums.push_back(static_cast<float>(sum));
      }
      w.state = add_state(*bytes, convolves ? t.shape : Dims{rows, matrix.columns}, slice);
      for (std::uint32_t s : slice.states) maybe_unread_[s] = true;
      result = std::move(w);
      break;
    }
    return result;
  }

  /// Finds or adds the state with exactly these elements.
  std::uint32_t add_state(const std::vector<std::int8_t>& bytes, const Dims& shape, const ConstantSlice& slice) {
    State state;
    state.type = {DType::i8, shape};
    state.strides = row_major(shape);
    const State* largest = nullptr;
    for (std::uint32_t s : slice.states) {
      const State& known = program_.states[s];
      if (known.type == state.type && known.strides == state.strides && has_bytes(known, bytes)) return s;
      if (largest == nullptr || program_.storages[known.storage].size > program_.storages[largest->storage].size)
        largest = &known;
    }
    state.name = fmt::format("{}.int8", largest->name);
    while (std::ranges::find(program_.states, state.name, &State::name) != program_.states.end()) state.name += "_";
    state.kind = largest->kind;
    state.persistent = largest->persistent;
    const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
    state.storage = add_storage(program_, {first, first + bytes.size()});
    program_.states.push_back(std::move(state));
    return static_cast<std::uint32_t>(program_.states.size() - 1);
  }

  bool has_bytes(const State& s, const std::vector<std::int8_t>& bytes) const {
    const auto storage_bytes = program_.source->bytes(s.storage);
    const auto begin = static_cast<std::size_t>(s.offset);
    return begin + bytes.size() <= storage_bytes.size() &&
           std::equal(bytes.begin(), bytes.end(), storage_bytes.begin() + s.offset, [](std::int8_t x, std::byte y) {
             return static_cast<std::uint8_t>(x) == std::to_integer<std::uint8_t>(y);
           });
  }

  Program& program_;
  std::vector<bool> maybe_unread_;  ///< states possibly unread after the pass
  std::map<std::pair<const Function*, ValueId>, std::optional<IntegerWeight>> weights_;
  std::uint64_t budget_ = 0;
  bool is_changed_ = false;
};

}  // namespace

void multiply_integers(Program& program) {
  IntegerProducts(program).run();
}

}  // namespace tern
