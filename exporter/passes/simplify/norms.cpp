// Recognises spelled-out normalizations, such as those of transformers: x * rsqrt(mean(x^2) + epsilon). They become
// rms_norm, or layer_norm if x has its mean subtracted, together with a weight and a bias. Roundings stay: a program
// normalizing in float32 and rounding before its weight keeps this order.
#include <algorithm>
#include <optional>

#include "exporter/passes/passes.h"
#include "exporter/passes/simplify/dataflow.h"
#include "schema/kinds.h"

namespace tern {
namespace {

bool is_wide(DType t) {
  return t == DType::f32 || t == DType::f64;
}

/// A number added to a value.
struct Shifted {
  ValueId value = kNoValue;
  double number = 0;
};

class Norms {
 public:
  explicit Norms(Function& f) : f_(f), flow_(f) {}

  void run() {
    for (Node& n : f_.nodes) {
      const auto single_operation = flow_.operation(n);
      if (!single_operation) continue;
      if (const auto node = normalization_of(n, *single_operation)) replace(n, *node);
    }
  }

 private:
  const TensorType& type(ValueId v) const { return flow_.type(v); }

  static void replace(Node& n, const Node& factor) {
    Node node = factor;
    node.outputs = n.outputs;
    if (node.op == Op::layer_norm) node.outputs.resize(3, kNoValue);
    node.origin = n.origin;
    node.annotations = std::move(n.annotations);
    n = std::move(node);
  }

  std::optional<Node> normalization_of(const Node& n, const OneOperation& single_operation) const {
    const ValueId y = n.outputs[0];
    if (single_operation.op == Scalar::load) return rounded(single_operation.operands[0].value, type(y));
    if (!is_wide(single_operation.compute) || single_operation.compute != type(y).dtype) return {};
    const ValueId a = single_operation.operands[0].value, b = single_operation.operands[1].value;
    if (single_operation.count != 2 || a == kNoValue || b == kNoValue) return {};
    switch (single_operation.op) {
      case Scalar::mul:
        for (const auto& [x, other] : {std::pair(a, b), std::pair(b, a)}) {
          if (auto node = add_parameter(x, other, 1, type(y))) return node;
          if (auto node = normalized(x, mean_of_reciprocal_root(other), type(y))) return node;
        }
        return {};
      case Scalar::div: return normalized(a, mean_of_root(b), type(y));
      case Scalar::add:
        if (auto node = add_parameter(a, b, 2, type(y))) return node;
        return add_parameter(b, a, 2, type(y));
      default: return {};
    }
  }

  /// Operation producing `v` for a single reader, without rounding.
  std::optional<OneOperation> wide_operation(ValueId v) const {
    if (v == kNoValue || !flow_.is_read_by(v, 1)) return {};
    auto single_operation = flow_.operation(v);
    return single_operation && is_wide(single_operation->compute) && single_operation->compute == type(v).dtype
               ? single_operation
               : std::nullopt;
  }

  // sqrt(m + epsilon)
  std::optional<Shifted> mean_of_root(ValueId v) const {
    const auto root = wide_operation(v);
    return root && root->op == Scalar::sqrt ? shifted(root->operands[0].value) : std::nullopt;
  }
  // rsqrt(m + epsilon), 1 / sqrt(m + epsilon)
  std::optional<Shifted> mean_of_reciprocal_root(ValueId v) const {
    const auto single_operation = wide_operation(v);
    if (!single_operation) return {};
    if (single_operation->op == Scalar::rsqrt) return shifted(single_operation->operands[0].value);
    if (single_operation->op == Scalar::reciprocal) return mean_of_root(single_operation->operands[0].value);
    const bool quotient = single_operation->op == Scalar::div && single_operation->operands[0].value == kNoValue &&
                          single_operation->operands[0].number == 1;
    return quotient ? mean_of_root(single_operation->operands[1].value) : std::nullopt;
  }
  std::optional<Shifted> shifted(ValueId v) const {
    const auto sum = wide_operation(v);
    if (!sum || sum->op != Scalar::add) return {};
    const ScalarOperand &a = sum->operands[0], &b = sum->operands[1];
    if ((a.value == kNoValue) == (b.value == kNoValue)) return {};
    const Shifted s = a.value == kNoValue ? Shifted{b.value, a.number} : Shifted{a.value, b.number};
    return s.number > 0 ? std::optional(s) : std::nullopt;
  }

  /// Operand and number of axes of a mean over the last axes, which stay. The mean has one reader.
  struct MeanMatch {
    ValueId operand = kNoValue;
    std::int64_t axes = 0;
  };
  std::optional<MeanMatch> match_mean(ValueId v) const {
    const Node* n = flow_.made_by(v, Op::reduce);
    if (n == nullptr || !flow_.is_read_by(v, 1) || n->integer(AttrKey::kind) != static_cast<int>(ReduceKind::mean) ||
        n->integer(AttrKey::keepdims) == 0 || type(n->inputs[0]).dtype != type(v).dtype)
      return {};
    const std::int64_t rank = type(v).rank();
    std::vector<std::int64_t> axes;
    for (const Dim axis : n->dims(AttrKey::axes)) axes.push_back(axis.value() < 0 ? axis.value() + rank : axis.value());
    std::ranges::sort(axes);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] != rank - std::ssize(axes) + static_cast<std::int64_t>(i)) return {};
    }
    if (axes.empty()) return {};
    return MeanMatch{n->inputs[0], std::ssize(axes)};
  }

  /// `x` over the root of `m` plus a number, with `m` the mean of x^2.
  std::optional<Node> normalized(ValueId x, const std::optional<Shifted>& m, const TensorType& result) const {
    const auto squares = m ? match_mean(m->value) : std::nullopt;
    const auto square = squares ? wide_operation(squares->operand) : std::nullopt;
    if (!square || square->op != Scalar::mul || square->operands[0].value != square->operands[1].value) return {};
    const ValueId widened = square->operands[0].value;
    if (widened == kNoValue || flow_.before_widening(widened) != flow_.before_widening(x)) return {};
    if (type(widened) != result || type(squares->operand).shape != result.shape) return {};
    Node node;
    node.op = Op::rms_norm;
    node.inputs = {widened, kNoValue};
    node.set(AttrKey::k, Dims{squares->axes});
    node.set(AttrKey::epsilon, std::vector<double>{m->number});
    const ValueId centred = x == widened ? less_mean(x, squares->axes) : kNoValue;
    if (centred == kNoValue) return node;
    node.op = Op::layer_norm;
    node.inputs = {centred, kNoValue, kNoValue};
    return node;
  }

  /// The value that `x` is less its mean. Only the square and the product of `x` read `x`.
  ValueId less_mean(ValueId x, std::int64_t axes) const {
    const auto difference = flow_.is_read_by(x, 2) ? flow_.operation(x) : std::nullopt;
    if (!difference || difference->op != Scalar::sub || difference->compute != type(x).dtype) return kNoValue;
    const ValueId minuend = difference->operands[0].value, subtrahend = difference->operands[1].value;
    const auto middle = minuend == kNoValue || subtrahend == kNoValue ? std::nullopt : match_mean(subtrahend);
    const bool own_mean =
        middle && middle->axes == axes && flow_.before_widening(middle->operand) == flow_.before_widening(minuend);
    return own_mean && type(middle->operand) == type(x) ? middle->operand : kNoValue;
  }

  /// Normalization producing `y`, with a single reader.
  const Node* norm(ValueId y) const {
    if (y == kNoValue || !flow_.is_read_by(y, 1)) return nullptr;
    const Node* n = flow_.made_by(y, Op::rms_norm);
    if (n == nullptr) n = flow_.made_by(y, Op::layer_norm);
    const bool has_one_result = n != nullptr && std::ranges::count(n->outputs, kNoValue) + 1 == std::ssize(n->outputs);
    return has_one_result ? n : nullptr;
  }

  /// The normalization with the weight or the bias `p` as well.
  std::optional<Node> add_parameter(ValueId y, ValueId p, std::size_t operand, const TensorType& result) const {
    const Node* n = norm(y);
    if (n == nullptr || type(y) != result || operand >= n->inputs.size() || n->inputs[operand] != kNoValue) return {};
    if (operand == 1 && n->inputs.size() > 2 && n->inputs[2] != kNoValue) return {};  // the weight comes first
    const Dims& shape = type(p).shape;
    const auto k = static_cast<std::size_t>(n->integer(AttrKey::k));
    if (!is_floating(type(p).dtype) || compute_type(type(p).dtype) != result.dtype || shape.size() != k ||
        !std::equal(shape.begin(), shape.end(), result.shape.end() - static_cast<std::ptrdiff_t>(k)))
      return {};
    Node node = *n;
    node.inputs[operand] = p;
    return node;
  }

  /// Normalization of a widened value, rounded to the original type.
  std::optional<Node> rounded(ValueId y, const TensorType& result) const {
    const Node* n = norm(y);
    if (n == nullptr || !is_wide(type(y).dtype)) return {};
    const ValueId x = flow_.before_widening(n->inputs[0]);
    if (x == n->inputs[0] || type(x) != result) return {};
    Node node = *n;
    node.inputs[0] = x;
    return node;
  }

  Function& f_;
  Dataflow flow_;
};

}  // namespace

void recognise_norms(Program& program) {
  for (Function& f : program.functions) Norms(f).run();
}

}  // namespace tern
