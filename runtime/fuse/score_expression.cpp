#include "runtime/fuse/score_expression.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "schema/expression_of.h"

namespace tern {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();
constexpr std::size_t kScoreAxes = 2;  // queries and keys

/// Size of the axis `from_end` axes before the end; 1 if there is none.
Dim size_from_end(const Dims& shape, std::size_t from_end) {
  return shape.size() > from_end ? shape[shape.size() - 1 - from_end] : Dim(1);
}

/// The score of an expression, and the condition of a visible key.
class Conditions {
 public:
  explicit Conditions(std::vector<Instruction>& code) : code_(code) {}

  bool run() {
    std::uint16_t score = last();
    while (const std::optional<std::uint16_t> next = remove_condition(score)) score = *next;
    if (!condition_) return false;
    const std::uint16_t hidden = push({Scalar::constant, DType::f32, 0, 0, 0, 0, kHidden});
    push({Scalar::where, DType::f32, *condition_, score, hidden});
    return true;
  }

 private:
  std::uint16_t last() const { return static_cast<std::uint16_t>(code_.size() - 1); }
  std::uint16_t push(const Instruction& i) {
    code_.push_back(i);
    return last();
  }
  bool is_constant(std::uint16_t i, double number) const {
    return code_[i].op == Scalar::constant && is_floating(code_[i].dtype) && code_[i].number == number;
  }
  bool reads_score(std::uint16_t i) const {
    const PointwiseExpr e = expression_of(code_, i);
    return std::ranges::any_of(e.code, [](const Instruction& n) { return n.op == Scalar::load && n.integer == 0; });
  }

  /// Takes the condition of where(c, x, -infinity) or where(c, -infinity, x); returns x.
  std::optional<std::uint16_t> take_choice(std::uint16_t i) {
    const Instruction n = code_[i];
    if (n.op != Scalar::where || is_constant(n.b, kHidden) == is_constant(n.c, kHidden) || reads_score(n.a))
      return std::nullopt;
    const bool is_hidden = is_constant(n.b, kHidden);
    const std::uint16_t visible = is_hidden ? push({Scalar::not_, DType::boolean, n.a}) : n.a;
    condition_ = condition_ ? push({Scalar::and_, DType::boolean, *condition_, visible}) : visible;
    return is_hidden ? n.c : n.b;
  }

  /// Like take_choice, for a choice whose result conversions between floats round.
  std::optional<std::uint16_t> take_converted(std::uint16_t i) {
    std::vector<std::uint16_t> conversions;
    std::uint16_t at = i;
    while (code_[at].op == Scalar::convert && is_floating(code_[at].dtype) && is_floating(code_[code_[at].a].dtype)) {
      conversions.push_back(at);
      at = code_[at].a;
    }
    std::optional<std::uint16_t> x = take_choice(at);
    if (!x) return std::nullopt;
    for (auto k = conversions.rbegin(); k != conversions.rend(); ++k) {
      Instruction n = code_[*k];
      n.a = *x;
      x = push(n);
    }
    return x;
  }

  bool is_zero(std::uint16_t i) const {
    while (code_[i].op == Scalar::convert && is_floating(code_[i].dtype)) i = code_[i].a;
    return is_constant(i, 0);
  }

  /// Returns the score without its outermost condition.
  std::optional<std::uint16_t> remove_condition(std::uint16_t i) {
    if (const auto x = take_converted(i)) return x;
    const Instruction n = code_[i];
    if (n.op != Scalar::add || n.dtype != DType::f32) return std::nullopt;
    for (const bool first : {false, true}) {
      const std::uint16_t score = first ? n.b : n.a;
      const std::optional<std::uint16_t> addend = take_converted(first ? n.a : n.b);
      if (addend) return is_zero(*addend) ? score : push({Scalar::add, DType::f32, score, *addend});
    }
    return std::nullopt;
  }

  std::vector<Instruction>& code_;
  std::optional<std::uint16_t> condition_;
};

/// The expression for a result of more axes: positions count axes from the last one on.
PointwiseExpr move_positions(const PointwiseExpr& expr, const Dims& own, const Dims& scores) {
  PointwiseExpr moved = expr;
  const auto more = static_cast<std::int64_t>(scores.size() - own.size());
  for (Instruction& i : moved.code) {
    if (i.op != Scalar::index) continue;
    if (own[static_cast<std::size_t>(i.integer)].is(1)) {  // the only position
      i.op = Scalar::constant;
      i.integer = 0;
    } else {
      i.integer += more;
    }
  }
  return moved;
}

}  // namespace

bool move_condition_outermost(std::vector<Instruction>& code) {
  return Conditions(code).run();
}

ScoreExpression::ScoreExpression(FunctionInFusion& f, std::uint32_t reader, Dims scores, ValueId own)
    : f_(f), reader_(reader), scores_(std::move(scores)), product_score_(own) {
  own_score();
}

/// True if the value varies along queries and keys.
bool ScoreExpression::spans_scores(ValueId v) {
  const Dims& shape = f_.type(v).shape;
  if (shape.size() > scores_.size()) return false;
  for (std::size_t k = 0; k < kScoreAxes; ++k) {
    if (size_from_end(shape, k) != size_from_end(scores_, k)) return false;
  }
  return true;
}

/// True for a view whose result broadcasts to the scores like its operand.
bool ScoreExpression::is_broadcast(const Node& n) {
  if (n.op == Op::expand) return true;
  if (n.op != Op::reshape) return false;
  const Dims &from = f_.type(n.inputs[0]).shape, &to = f_.type(n.outputs[0]).shape;
  for (std::size_t k = 0; k < std::max(from.size(), to.size()); ++k) {
    if (size_from_end(from, k) != size_from_end(to, k)) return false;
  }
  return true;
}

std::uint16_t ScoreExpression::instruction(ValueId v) {
  if (v == product_score_) return own_score();
  if (const auto known = instructions_.find(v); known != instructions_.end()) return known->second;
  const std::int32_t producer = f_.producer_in_section(v, reader_);
  const Node* n = producer < 0 ? nullptr : &f_.f.nodes[static_cast<std::size_t>(producer)];
  std::uint16_t result;
  if (n != nullptr && spans_scores(v) && is_broadcast(*n)) {
    result = instruction(n->inputs[0]);
  } else if (n != nullptr && spans_scores(v) && n->op == Op::pointwise && !f_.has_pairs(*n) &&
             computed_ < kMaxFusedInstructions &&
             std::ranges::none_of(n->inputs, [&](ValueId o) { return f_.type(o).quantized(); }) &&
             f_.may_move(static_cast<std::uint32_t>(producer), f_.positions[reader_])) {
    ++computed_;
    std::vector<std::uint16_t> loads;
    for (ValueId o : n->inputs) loads.push_back(instruction(o));
    const Dims& own = f_.type(v).shape;
    reads_planes_ = reads_planes_ || std::ranges::any_of(n->expr.code, [&](const Instruction& i) {
                      return i.op == Scalar::index &&
                             i.integer + static_cast<std::int64_t>(kScoreAxes) < static_cast<std::int64_t>(own.size());
                    });
    result = builder_.append(move_positions(n->expr, own, scores_), loads);
  } else {
    result = builder_.load(v, f_.type(v).dtype);
  }
  instructions_[v] = result;
  return result;
}

std::optional<PointwiseExpr> ScoreExpression::finish(std::uint16_t result) {
  PointwiseExpr expr = builder_.finish(result);
  has_condition_ = move_condition_outermost(expr.code);
  expr = expression_of(expr.code, expr.code.size() - 1);
  if (expr.code.size() > kMaxFusedInstructions || operands().size() > kMaxFusedOperands) return std::nullopt;
  return expr;
}

bool ScoreExpression::depends_on_planes() {
  const auto varies = [&](ValueId v) {
    const Dims& shape = f_.type(v).shape;
    for (std::size_t k = kScoreAxes; k < shape.size(); ++k) {
      if (!size_from_end(shape, k).is(1)) return true;
    }
    return false;
  };
  return reads_planes_ || std::ranges::any_of(operands(), varies);
}

std::vector<ValueId> ScoreExpression::operands() const {
  return {builder_.operands().begin() + 1, builder_.operands().end()};
}

}  // namespace tern
