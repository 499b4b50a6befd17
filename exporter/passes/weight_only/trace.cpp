#include "exporter/passes/weight_only/trace.h"

#include <algorithm>

namespace tern::weight_only {
namespace {

constexpr int kMostSteps = 32;  // limit on views and conversions of one operand

bool is_float(DType t) {
  return t == DType::f32 || t == DType::f16 || t == DType::bf16;
}

/// True if `target` represents every number of `source`, a byte type (is_byte).
bool represents_all(DType target, DType source) {
  if (is_float(target) || target == DType::f64 || target == source) return true;
  if (!is_integral(source) || !is_integral(target)) return false;
  return element_size(target) > 1 &&
         (source == DType::u8 || target == DType::i16 || target == DType::i32 || target == DType::i64);
}

bool is_traced_view(const Node& n) {
  return n.op == Op::reshape || n.op == Op::permute || n.op == Op::expand || n.op == Op::slice;
}

/// Follows an operand backwards.
class OperandTrace {
 public:
  explicit OperandTrace(const ByteWeights& weights) : weights_(weights) {}

  std::optional<ByteOperand> run(ValueId v) {
    for (int i = 0; i < kMostSteps; ++i) {
      if (weights_.is_byte_state(v)) return finish(v);
      const Node* n = weights_.node(v);
      if (n == nullptr) return std::nullopt;
      if (is_traced_view(*n)) {
        views_.push_back(n);
        v = n->inputs[0];
      } else if (n->op != Op::pointwise || !step(*n, v)) {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

 private:
  /// Passes a conversion or a product with a scale.
  bool step(const Node& n, ValueId& v) {
    const std::vector<Instruction>& code = n.expr.code;
    const Converted result = strip_conversions(n.expr, code.size() - 1);
    casts_.insert(casts_.end(), result.dtypes.begin(), result.dtypes.end());
    const Instruction& base = code[result.instruction];
    if (base.op == Scalar::load) {
      if (n.inputs.size() != 1) return false;
      v = n.inputs[0];
      return true;
    }
    if (base.op != Scalar::mul || n.inputs.size() != 2 || scale_) return false;
    if (!std::ranges::all_of(casts_, is_float) || !is_float(base.dtype)) return false;
    const Converted factors[2] = {strip_conversions(n.expr, base.a), strip_conversions(n.expr, base.b)};
    if (std::ranges::any_of(factors, [&](const Converted& f) { return code[f.instruction].op != Scalar::load; }))
      return false;
    const auto input = [&](int i) { return static_cast<std::size_t>(code[factors[i].instruction].integer); };
    if (input(0) == input(1)) return false;
    const TensorType& product_type = weights_.type(n.outputs[0]);
    for (const int i : {0, 1}) {
      const ValueId weight = n.inputs[input(i)], scale = n.inputs[input(1 - i)];
      const bool rounds = std::ranges::any_of(factors[1 - i].dtypes, [](DType t) { return t != DType::f32; });
      if (!is_float(weights_.type(scale).dtype) || rounds || weights_.type(weight).shape != product_type.shape ||
          !leads_to_weight(weight))
        continue;
      casts_ = factors[i].dtypes;
      scale_ = Scale{scale, product_type.rank(), views_.size()};  // counted from the operand until finish
      v = weight;
      return true;
    }
    return false;
  }

  bool leads_to_weight(ValueId v) const {
    OperandTrace further(weights_);
    further.scale_ = Scale{};  // a product has one scale
    return further.run(v).has_value();
  }

  std::optional<ByteOperand> finish(ValueId weight) {
    const DType type = weights_.type(weight).dtype;
    if (!std::ranges::all_of(casts_, [&](DType t) { return represents_all(t, type); })) return std::nullopt;
    std::ranges::reverse(views_);
    if (scale_) scale_->views = views_.size() - scale_->views;
    return ByteOperand{weight, views_, scale_};
  }

  const ByteWeights& weights_;
  std::vector<const Node*> views_;
  std::vector<DType> casts_;
  std::optional<Scale> scale_;
};

}  // namespace

bool is_byte(DType t) {
  switch (t) {
    case DType::i8:
    case DType::u8:
    case DType::f8_e4m3fn:
    case DType::f8_e5m2:
    case DType::f8_e4m3fnuz:
    case DType::f8_e5m2fnuz: return true;
    default: return false;
  }
}

ByteWeights::ByteWeights(const Program& program, const Function& function)
    : function_(function), def_use_(function), byte_states_(function.values.size()) {
  for (const FunctionInput& input : function.inputs) {
    if (input.kind != FunctionInput::Kind::state || input.value == kNoValue) continue;
    const State& s = program.states[input.state];
    byte_states_[static_cast<std::size_t>(input.value)] = !s.is_mutable && !s.type.quantized() && is_byte(s.type.dtype);
  }
}

Converted strip_conversions(const PointwiseExpr& expr, std::size_t index) {
  Converted c{index, {}};
  while (expr.code[c.instruction].op == Scalar::convert) {
    c.dtypes.push_back(expr.code[c.instruction].dtype);
    c.instruction = expr.code[c.instruction].a;
  }
  return c;
}

std::optional<ByteOperand> trace(const ByteWeights& weights, ValueId v) {
  return OperandTrace(weights).run(v);
}

}  // namespace tern::weight_only
