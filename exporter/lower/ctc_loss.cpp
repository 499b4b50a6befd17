// Lowerings of connectionist temporal classification: a loop over time, the batch side by side.
#include <limits>
#include <string>

#include "exporter/add_body.h"
#include "exporter/lower/loss.h"
#include "exporter/lower/reduction.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;
constexpr double kCtcLossNever = -std::numeric_limits<double>::infinity();

/// Lengths as an int64 tensor [N], given as a tensor or as a list.
ValueId lengths(Builder& b, const Call& c, ArgumentName name) {
  if (c.is_tensor(name)) return b.flatten(b.cast(c.tensor(name), DType::i64));
  Values length_values;
  for (Dim d : c.dims(name)) length_values.push_back(b.reshape(b.from_dim(d), {1}));
  return length_values.empty() ? b.full({0}, 0, DType::i64) : b.concat(length_values, 0);
}

/// Targets as [N, S]; the argument may concatenate the rows into a single list.
ValueId target_rows(Builder& b, const Call& c, ValueId target_lengths) {
  const ValueId targets = b.cast(c.tensor("targets"), DType::i64);
  if (b.rank(targets) == 2) return targets;
  const Dim max_length = b.size(targets, 0), rows = b.size(target_lengths, 0);
  if (max_length.is(0)) return b.full({rows, 0}, 0, DType::i64);
  const ValueId target_ends = scan_along(b, target_lengths, ScanKind::cumsum, 0, DType::i64);
  const ValueId target_begins =
      b.unsqueeze(b.expr("e - n", {{"e", target_ends}, {"n", target_lengths}}, DType::i64), 1);
  // Elements behind a row's own targets are never read.
  const ValueId position = b.expr("min(begin + i, last)",
                                  {{"begin", target_begins},
                                   {"i", b.iota(max_length, DType::i64)},
                                   {"last", b.from_dim(b.pool().sub(max_length, 1))}},
                                  DType::i64);
  return b.reshape(b.index_select(targets, b.flatten(position), 0), {rows, max_length});
}

/// A step: (alpha [N, L]; log-probabilities [N, C], time []; labels [N, L], skips [N, L],
/// lengths [N, 1]) to the new alpha.
Values step(Builder& f, std::span<const ValueId> operands) {
  const auto shifted_back = [&](std::int64_t positions) {
    return f.pad(operands[0], {0, positions}, {0, -positions}, kCtcLossNever);
  };
  return {
      f.expr("skipping = s ? skip : -inf; most = max(max(stay, one), skipping); top = most == -inf ? 0 : most;"
             "sum = exp(stay - top) + exp(one - top) + exp(skipping - top); i < n ? log(sum) + top + p : stay",
             {{"stay", operands[0]},
              {"one", shifted_back(1)},
              {"skip", shifted_back(2)},
              {"s", operands[4]},
              {"p", f.gather(operands[1], operands[3], 1)},
              {"i", operands[2]},
              {"n", operands[5]}},
             f.dtype(operands[0]))};
}

/// -log p(targets) of each row; infinite for impossible targets.
ValueId losses(Builder& b, const Call& c, ValueId target_lengths) {
  ValueId p = c.tensor("log_probs");
  if (b.rank(p) == 2) p = b.unsqueeze(p, 1);
  const DType t = b.dtype(p);
  const ValueId targets = target_rows(b, c, target_lengths);
  const Dim rows = b.size(p, 1), max_length = b.size(targets, 1);
  const double blank = static_cast<double>(c.integer_or("blank", 0));
  // Labels: the targets with blanks before, between and behind them. A step may skip the blank between two different
  // targets.
  const Dim positions = b.pool().add(b.pool().mul(max_length, 2), 1);
  const ValueId column = b.unsqueeze(targets, 2);
  const ValueId pairs = b.concat({b.full({rows, max_length, 1}, blank, DType::i64), column}, 2);
  const ValueId labels = b.pad(b.reshape(pairs, {rows, b.pool().mul(max_length, 2)}), {0, 0}, {0, 1}, blank);
  const ValueId earlier = b.pad(labels, {0, 2}, {0, -2}, blank);
  const ValueId skips =
      b.expr("l != blank && l != e", {{"l", labels}, {"e", earlier}, {"blank", blank}}, DType::i64, DType::boolean);
  // No label is emitted before the first step, with probability 1.
  const ValueId position = b.iota(positions, DType::i64);
  const ValueId start = b.expand(b.expr("i == 0 ? 0 : -inf", {{"i", position}}, t), {rows, positions});
  const ValueId n = b.unsqueeze(lengths(b, c, "input_lengths"), 1);

  Node loop;
  loop.op = Op::scan_loop;
  loop.inputs = {start, p, b.iota(b.size(p, 0), DType::i64), labels, skips, n};
  loop.set(AttrKey::carried, Dims{1});
  loop.set(AttrKey::mapped, Dims{2});
  std::vector<TensorType> types;
  for (ValueId v : loop.inputs) types.push_back(b.type(v));
  for (std::size_t i : {1, 2}) types[i].shape.erase(types[i].shape.begin());
  loop.functions = {add_body(b, b.function().name + ".ctc_step", types, step)};
  const ValueId alpha = b.add(std::move(loop)).at(0);

  // A path may end with the last target, or with the blank behind the target.
  const ValueId last = b.expr("2 * n", {{"n", b.unsqueeze(target_lengths, 1)}}, DType::i64);
  const ValueId second_last = b.expr("max(i - 1, 0)", {{"i", last}}, DType::i64);
  const ValueId loss = b.expr(
      "y = i > 0 ? b : -inf; most = max(a, y); top = most == -inf ? 0 : most; -(log(exp(a - top) + exp(y - top)) + "
      "top)",
      {{"a", b.gather(alpha, last, 1)}, {"b", b.gather(alpha, second_last, 1)}, {"i", last}}, t);
  return b.squeeze(loss, 1);
}

ValueId finite(Builder& b, const Call& c, ValueId loss) {
  if (!c.flag_or("zero_infinity", false)) return loss;
  return b.expr("x == inf ? 0 : x", {{"x", loss}}, b.dtype(loss));
}

Values ctc_loss(Builder& b, const Call& c) {
  const ValueId n = lengths(b, c, "target_lengths");
  ValueId loss = finite(b, c, losses(b, c, n));
  if (c.integer_or("reduction", 1) == 1) {
    loss = b.expr("x / max(n, 1)", {{"x", loss}, {"n", n}}, b.dtype(loss));
  }
  if (c.integer_or("reduction", 1) == 0 && b.rank(c.tensor("log_probs")) == 2) loss = b.squeeze(loss, 0);
  return {reduce_loss(b, c, loss)};
}
/// Omits the second result, the table of alphas, used by the backward operator alone.
Values ctc_loss_parts(Builder& b, const Call& c) {
  return {losses(b, c, lengths(b, c, "target_lengths")), kNoValue};
}

constexpr Lowering kCtcLossLowerings[] = {
    {"aten.ctc_loss.IntList", ctc_loss},
    {"aten.ctc_loss.Tensor", ctc_loss},
    {"aten._ctc_loss.default", ctc_loss_parts},
    {"aten._ctc_loss.Tensor", ctc_loss_parts},
};

}  // namespace

std::span<const Lowering> ctc_loss_lowerings() {
  return kCtcLossLowerings;
}

}  // namespace tern
