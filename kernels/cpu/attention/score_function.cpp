#include "kernels/cpu/attention/score_function.h"

#include <algorithm>
#include <limits>

#include "schema/epilogue.h"
#include "schema/expression_of.h"

namespace tern::cpu {
namespace {

constexpr double kHiddenScore = -std::numeric_limits<double>::infinity();

/// Operands of an epilogue: three of the op itself, then those of the expression.
std::vector<TensorView> expression_operands(const KernelCall& call) {
  std::vector<TensorView> in(kEpilogueOperands);
  for (std::size_t k = kAttentionOperands; k < call.in.size(); ++k) in.push_back(planes_without_repeats(call.in[k]));
  return in;
}

TensorView scores_of(const KernelCall& call) {
  TensorView scores = call.out[0];
  const TensorView& k = call.in[1];
  scores.dtype = DType::f32;
  scores.data = nullptr;
  scores.sizes[static_cast<std::size_t>(scores.rank - 1)] = k.size(k.rank - 2);
  make_contiguous(scores);
  return scores;
}

std::uint16_t push(PointwiseExpr& e, Scalar op, DType type, std::uint16_t a = 0, std::uint16_t b = 0,
                   std::uint16_t c = 0, double number = 0) {
  e.code.push_back({op, type, a, b, c, 0, number, 0});
  return static_cast<std::uint16_t>(e.code.size() - 1);
}

}  // namespace

ScoreFunction::ScoreFunction(const KernelCall& call) : scores_(scores_of(call)) {
  const std::vector<Instruction>& code = call.node->expr.code;
  std::size_t score = code.size() - 1;
  PointwiseExpr condition;
  const auto reads_score = [](const Instruction& i) { return i.op == Scalar::load && i.integer == 0; };
  const Instruction& last = code.back();
  if (last.op == Scalar::where && code[last.c].op == Scalar::constant && code[last.c].number == kHiddenScore) {
    condition = expression_of(code, last.a);
    score = last.b;
    if (std::ranges::any_of(condition.code, reads_score)) {
      condition.code.clear();
      score = code.size() - 1;
    }
  }
  std::vector<TensorView> in = expression_operands(call);
  const auto prepared = [&](Node& node, PointwiseExpr expr) {
    node.op = Op::matmul;
    node.expr = std::move(expr);
    KernelCall of_scores;
    of_scores.node = &node;
    of_scores.in = in;
    of_scores.out = {&scores_, 1};
    return std::make_unique<pointwise::Epilogue>(of_scores);
  };
  if (!condition.code.empty()) {
    PointwiseExpr hiding = condition;
    const auto visible = static_cast<std::uint16_t>(hiding.code.size() - 1);
    const std::uint16_t zero = push(hiding, Scalar::constant, DType::f32),
                        hidden = push(hiding, Scalar::constant, DType::f32, 0, 0, 0, kHiddenScore);
    push(hiding, Scalar::where, DType::f32, visible, zero, hidden);
    hiding_ = prepared(hiding_node_, std::move(hiding));
    for (Instruction& i : condition.code) i.integer -= i.op == Scalar::load ? 1 : 0;
    bounds_.emplace(std::move(condition), scores_);
  }
  if (!reads_score(code[score])) function_ = prepared(function_node_, expression_of(code, score));
}

ScoreFunction::Run::Run(const ScoreFunction& function, const KernelCall& call, ScratchArena& arena)
    : function_(function), scores_(function.scores_), in_(expression_operands(call)) {
  if (function.bounds_)
    ranges_.emplace(*function.bounds_, std::span<const TensorView>(in_).subspan(kEpilogueOperands), arena);
}

Visibility ScoreFunction::Run::visibility(const ScoreBlock& block) const {
  return ranges_ ? ranges_->visibility(block) : Visibility::all;
}

void ScoreFunction::Run::run(const pointwise::Epilogue& expression, const Node& node, const ScoreBlock& block,
                             float* data, std::int64_t row_step) const {
  KernelCall call;
  call.node = &node;
  call.in = in_;
  call.out = {&scores_, 1};
  const std::int64_t queries = scores_.size(scores_.rank - 2), keys = scores_.size(scores_.rank - 1);
  const std::int64_t begin = (block.plane * queries + block.first_query) * keys + block.first_key;
  expression.apply_block(call, data, row_step, block.queries, block.keys, begin, keys);
}

bool ScoreFunction::Run::is_shared() const {
  const auto varies = [](const TensorView& v) {
    for (int i = 0; i < v.rank - 2; ++i) {
      if (v.size(i) != 1) return true;
    }
    return false;
  };
  const auto reads_plane = [&](const Instruction& i) { return i.op == Scalar::index && i.integer < scores_.rank - 2; };
  return std::ranges::none_of(in_, varies) && std::ranges::none_of(function_.hiding_node_.expr.code, reads_plane);
}

Visibility ScoreFunction::Run::hide(const ScoreBlock& block, float* addends, std::int64_t row_step) const {
  run(*function_.hiding_, function_.hiding_node_, block, addends, row_step);
  bool any = false, all = true;
  for (std::int64_t r = 0; r < block.queries; ++r) {
    const float* row = addends + r * row_step;
    float lowest = 0, highest = -std::numeric_limits<float>::infinity();
    for (std::int64_t i = 0; i < block.keys; ++i) {
      lowest = std::min(lowest, row[i]);
      highest = std::max(highest, row[i]);
    }
    any = any || highest == 0;
    all = all && lowest == 0;
  }
  return !any ? Visibility::none : all ? Visibility::all : Visibility::mixed;
}

void ScoreFunction::Run::apply(const ScoreBlock& block, float* scores, std::int64_t row_step) const {
  run(*function_.function_, function_.function_node_, block, scores, row_step);
}

}  // namespace tern::cpu
