// Lowerings of torchaudio's operators: recursive filters, alignment, and the loss of transducers.
#include <algorithm>
#include <limits>
#include <string>

#include "exporter/add_body.h"
#include "exporter/lower/loss.h"
#include "exporter/lower/reduction.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;
constexpr double kAudioNever = -std::numeric_limits<double>::infinity();

/// A loop over the first axis of `mapped`. Operands of the body: carried, slices of mapped, captured.
struct Scan {
  Values carried, mapped, captured;

  std::vector<TensorType> body_types(Builder& b) const {
    std::vector<TensorType> types;
    for (ValueId v : carried) types.push_back(b.type(v));
    for (ValueId v : mapped) {
      types.push_back(b.type(v));
      types.back().shape.erase(types.back().shape.begin());
    }
    for (ValueId v : captured) types.push_back(b.type(v));
    return types;
  }
  /// Returns the final carried values, then the body's other results, stacked.
  Values run(Builder& b, const std::string& name, const FillBody& body) const {
    Node loop;
    loop.op = Op::scan_loop;
    for (const Values* list : {&carried, &mapped, &captured})
      loop.inputs.insert(loop.inputs.end(), list->begin(), list->end());
    loop.set(AttrKey::carried, Dims{static_cast<std::int64_t>(carried.size())});
    loop.set(AttrKey::mapped, Dims{static_cast<std::int64_t>(mapped.size())});
    loop.functions = {add_body(b, b.function().name + "." + name, body_types(b), body)};
    return b.add(std::move(loop));
  }
};

/// y[n] = x[n] - sum over k of a[k] * y[n - order + k], in float64. x: [B, C, N]; a: [C, order]; `past_outputs`: the
/// outputs before y[0], [B, C, order]. A block of outputs is linear in its inputs and in the last outputs of the
/// previous block, so blocks carry only their last outputs.
ValueId recurrence(Builder& b, ValueId x, ValueId a, ValueId past_outputs) {
  ExprPool& p = b.pool();
  const Dim batch = b.size(x, 0), channels = b.size(x, 1), length = b.size(x, 2), order = b.size(a, 1);
  std::int64_t block = 128;
  while (block < order.value()) block *= 2;

  // Matrix of one step on the column of the last outputs: shifts them up; the last row computes the next output.
  const ValueId negative = b.unsqueeze(b.expr("-a", {{"a", a}}, DType::f64), 1);
  const ValueId row = b.unsqueeze(b.iota(p.sub(order, 1), DType::i64), 1);
  const ValueId shift = b.expr("i + 1 == j ? 1 : 0", {{"i", row}, {"j", b.iota(order, DType::i64)}}, DType::f64);
  ValueId power = b.concat({b.expand(b.unsqueeze(shift, 0), {channels, p.sub(order, 1), order}), negative}, 1);
  // Row i of `impulse_response` gives output i of a block without input; each round doubles the rows.
  ValueId impulse_response = negative;
  for (std::int64_t rows = 1; rows < block; rows *= 2) {
    impulse_response = b.concat({impulse_response, b.matmul(impulse_response, power)}, 1);
    power = b.matmul(power, power);
  }
  // Impulse response, and its matrix: column j is the response delayed by j.
  const ValueId response_tail =
      b.reshape(b.slice(b.slice(impulse_response, 1, 0, block - 1), 2, p.sub(order, 1), 1), {channels, block - 1});
  const ValueId response = b.concat({b.full({channels, 1}, 1, DType::f64), response_tail}, 1);
  const ValueId position = b.expr("i - j + last",
                                  {{"i", b.unsqueeze(b.iota(block, DType::i64), 1)},
                                   {"j", b.iota(block, DType::i64)},
                                   {"last", static_cast<double>(block - 1)}},
                                  DType::i64);
  const ValueId matrix = b.reshape(b.index_select(b.pad(response, {0, block - 1}, {0, 0}), b.flatten(position), 1),
                                   {channels, block, block});

  const Dim blocks = p.ceildiv(length, block), lines = p.mul(batch, blocks);
  const ValueId padded = b.pad(x, {0, 0, 0}, {0, 0, p.sub(p.mul(blocks, block), length)});
  const ValueId by_channel = b.permute(b.reshape(padded, {batch, channels, blocks, block}), {1, 0, 2, 3});
  const ValueId driven = b.matmul(b.reshape(by_channel, {channels, lines, block}), b.transpose(matrix, 1, 2));

  // [blocks, C, B, order]: the last outputs of each block without a past.
  const ValueId last = b.permute(
      b.reshape(b.slice(driven, 2, p.sub(block, order), order), {channels, batch, blocks, order}), {2, 0, 1, 3});
  const Scan scan{{b.permute(past_outputs, {1, 0, 2})}, {last}, {b.transpose(power, 1, 2)}};
  const auto step = [](Builder& f, std::span<const ValueId> operands) -> Values {
    return {f.expr("s + v", {{"s", f.matmul(operands[0], operands[2])}, {"v", operands[1]}}, DType::f64), operands[0]};
  };
  const ValueId block_states = scan.run(b, "recurrence", step).at(1);
  const ValueId from_past = b.matmul(b.reshape(b.permute(block_states, {1, 2, 0, 3}), {channels, lines, order}),
                                     b.transpose(impulse_response, 1, 2));
  const ValueId y = b.expr("d + f", {{"d", driven}, {"f", from_past}}, DType::f64);
  const ValueId joined = b.permute(b.reshape(y, {channels, batch, blocks, block}), {1, 0, 2, 3});
  return b.slice(b.reshape(joined, {batch, channels, p.mul(blocks, block)}), 2, 0, length);
}

/// _lfilter_core_loop(input_signal_windows, a_coeff_flipped, padded_output_waveform)
Values lfilter(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input_signal_windows"), a = c.tensor("a_coeff_flipped"),
                padded = c.tensor("padded_output_waveform");
  const Dim taps = b.size(a, 1);
  if (!taps.is_const()) c.unsupported("the number of coefficients is symbolic");
  const std::int64_t order = taps.value() - 1;
  const Dim length = b.size(x, 2);
  const ValueId past_samples = b.slice(padded, 2, 0, order);
  // The last coefficient multiplies the previous contents of the result's memory.
  const ValueId input =
      b.expr("x - old * a", {{"x", x}, {"old", b.slice(padded, 2, order, length)}, {"a", b.slice(a, 1, order, 1)}},
             DType::f64);
  const ValueId y =
      order == 0 ? input
                 : recurrence(b, input, b.cast(b.slice(a, 1, 0, order), DType::f64), b.cast(past_samples, DType::f64));
  return {b.concat({past_samples, b.cast(y, b.dtype(padded))}, 2)};
}

/// _overdrive_core_loop(waveform, temp, last_in, last_out, output_waveform), all [B, N] or [B]
Values overdrive(Builder& b, const Call& c) {
  constexpr double kDecay = 0.995;
  const ValueId waveform = c.tensor("waveform"), temp = c.tensor("temp");
  const DType t = b.dtype(c.tensor("output_waveform"));
  const Dim rows = b.size(temp, 0), length = b.size(temp, 1);
  const ValueId earlier =
      b.concat({b.unsqueeze(c.tensor("last_in"), 1), b.slice(temp, 1, 0, b.pool().sub(length, 1))}, 1);
  const ValueId difference = b.expr("x - y", {{"x", temp}, {"y", earlier}}, DType::f64);
  const ValueId last_output = b.cast(b.reshape(c.tensor("last_out"), {rows, 1, 1}), DType::f64);
  const ValueId filtered = b.reshape(
      recurrence(b, b.unsqueeze(difference, 1), b.full({1, 1}, -kDecay, DType::f64), last_output), {rows, length});
  const auto newest = [&](ValueId v) {
    return b.cast(b.reshape(b.slice(v, 1, b.pool().sub(length, 1), 1), {rows}), t);
  };
  return {newest(temp), newest(filtered),
          b.expr("w * 0.5 + o * 0.75", {{"w", waveform}, {"o", filtered}}, DType::f64, t)};
}

/// Surrounds and separates labels [L] with blanks: [2 * L + 1].
ValueId insert_blanks(Builder& b, ValueId labels, double blank) {
  const Dim count = b.size(labels, 0);
  const ValueId pairs = b.concat({b.full({count, 1}, blank, DType::i64), b.unsqueeze(labels, 1)}, 1);
  return b.pad(b.reshape(pairs, {b.pool().mul(count, 2)}), {0}, {1}, blank);
}

/// forced_align(log_probs [1, T, C], targets [1, L], input_lengths, target_lengths, blank): the likeliest path of
/// labels [1, T], and log_probs. The tensors' sizes give the lengths.
Values forced_align(Builder& b, const Call& c) {
  const ValueId log_probs = c.tensor("log_probs"), targets = c.tensor("targets");
  const DType t = b.dtype(log_probs);
  const double blank = static_cast<double>(c.integer("blank"));
  const Dim steps = b.size(log_probs, 1), states = b.pool().add(b.pool().mul(b.size(targets, 1), 2), 1);
  const ValueId labels = insert_blanks(b, b.reshape(b.cast(targets, DType::i64), {b.size(targets, 1)}), blank);
  const ValueId earlier = b.pad(labels, {2}, {-2}, blank);
  const ValueId skips =
      b.expr("l != blank && l != e", {{"l", labels}, {"e", earlier}, {"blank", blank}}, DType::i64, DType::boolean);
  const ValueId p = b.index_select(b.reshape(log_probs, {steps, b.size(log_probs, 2)}), labels, 1);
  const ValueId position = b.iota(states, DType::i64);

  // Move of the last step: 0 stays, 1 comes from the previous label, 2 skips a blank.
  const ValueId start = b.expr("i == 0 ? 0 : -inf", {{"i", position}}, t);
  const Scan forward{{start}, {p}, {skips}};
  const auto step = [t](Builder& f, std::span<const ValueId> operands) -> Values {
    const auto shifted_back = [&](std::int64_t count) { return f.pad(operands[0], {count}, {-count}, kAudioNever); };
    const std::vector<ExprArg> arguments = {{"stay", operands[0]},
                                            {"one", shifted_back(1)},
                                            {"two", shifted_back(2)},
                                            {"s", operands[2]},
                                            {"p", operands[1]}};
    return {f.expr("skip = s ? two : -inf; max(max(stay, one), skip) + p", arguments, t),
            f.expr("skip = s ? two : -inf; skip > one && skip > stay ? 2 : one > stay && one > skip ? 1 : 0", arguments,
                   t, DType::i64)};
  };
  const Values walked = forward.run(b, "align", step);

  const ValueId last = b.slice(walked.at(0), 0, b.pool().sub(states, 2), 2);
  const ValueId end = b.expr("b > a ? n - 1 : n - 2",
                             {{"a", b.reshape(b.slice(last, 0, 0, 1), {})},
                              {"b", b.reshape(b.slice(last, 0, 1, 1), {})},
                              {"n", b.from_dim(states)}},
                             t, DType::i64);
  const Scan backward{{end}, {b.flip(walked.at(1), {0})}, {}};
  const auto step_back = [](Builder& f, std::span<const ValueId> operands) -> Values {
    const ValueId origin = f.reshape(f.gather(operands[1], f.reshape(operands[0], {1}), 0), {});
    return {f.expr("i - o", {{"i", operands[0]}, {"o", origin}}, DType::i64), operands[0]};
  };
  const ValueId path = b.flip(backward.run(b, "trace", step_back).at(1), {0});
  const ValueId found = b.index_select(labels, path, 0);
  return {b.cast(b.unsqueeze(found, 0), b.dtype(targets)), log_probs};
}

/// rnnt_loss_forward(logits [B, T, U, C], targets [B, U - 1], logit_lengths [B], target_lengths [B], blank, clamp,
/// fused_log_softmax): costs [B]. The second result, for gradients, is not computed.
Values rnnt_loss(Builder& b, const Call& c) {
  ValueId logits = c.tensor("logits");
  const DType result = b.dtype(logits), t = compute_type(result);
  logits = b.cast(logits, t);
  const ValueId p = c.flag("fused_log_softmax")
                        ? b.add(Op::softmax, {logits}, {attr(AttrKey::axis, Dim(3)), attr(AttrKey::log, Dim(1))})
                        : logits;
  const Dim rows = b.size(p, 0), steps = b.size(p, 1), states = b.size(p, 2);
  const double blank = static_cast<double>(c.integer("blank"));
  const auto column = [&](ValueId index) {  // [B, T, U]
    return b.squeeze(b.gather(p, b.expand(index, {rows, steps, states, 1}), 3), 3);
  };
  const ValueId blanks = column(b.full({1, 1, 1, 1}, blank, DType::i64));
  const ValueId labels = b.pad(b.cast(c.tensor("targets"), DType::i64), {0, 0}, {0, 1});
  const ValueId emits = column(b.reshape(labels, {rows, 1, states, 1}));

  // alpha[t, u] = logaddexp(alpha[t - 1, u] + blank[t - 1, u], alpha[t, u - 1] + emit[t, u - 1]). Let E be the
  // cumulative sums of emit: alpha[t] - E is the cumulative logsumexp of (the arrivals from t - 1) - E.
  const auto first_axis = [&](ValueId v) { return b.move_axis(v, 1, 0); };
  const ValueId sums =
      b.pad(scan_along(b, b.slice(emits, 2, 0, b.pool().sub(states, 1)), ScanKind::cumsum, 2, t), {0, 0, 1}, {0, 0, 0});
  // Before the first step the path is at u = 0; blanks of the step before.
  const ValueId earlier = b.pad(blanks, {0, 1, 0}, {0, -1, 0});
  const ValueId start = b.expand(b.expr("i == 0 ? 0 : -inf", {{"i", b.iota(states, DType::i64)}}, t), {rows, states});
  const Scan scan{{start}, {first_axis(earlier), first_axis(sums)}, {}};
  const auto step = [t](Builder& f, std::span<const ValueId> operands) -> Values {
    const ValueId arrived = f.expr("a + b - e", {{"a", operands[0]}, {"b", operands[1]}, {"e", operands[2]}}, t);
    const ValueId alpha =
        f.expr("l + e", {{"l", scan_along(f, arrived, ScanKind::logcumsumexp, 1, t)}, {"e", operands[2]}}, t);
    return {alpha, alpha};
  };
  const ValueId alphas = b.move_axis(scan.run(b, "transducer", step).at(1), 0, 1);  // [B, T, U]

  const auto lengths = [&](ArgumentName name) { return b.reshape(b.cast(c.tensor(name), DType::i64), {rows, 1}); };
  const ValueId position = b.expr(
      "(t - 1) * n + u", {{"t", lengths("logit_lengths")}, {"n", b.from_dim(states)}, {"u", lengths("target_lengths")}},
      DType::i64);
  const Dims flat = {rows, b.pool().mul(steps, states)};
  const ValueId cost = b.expr(
      "-(a + b)",
      {{"a", b.gather(b.reshape(alphas, flat), position, 1)}, {"b", b.gather(b.reshape(blanks, flat), position, 1)}}, t,
      result);
  return {b.squeeze(cost, 1), kNoValue};
}

constexpr Lowering kAudioLowerings[] = {
    {"torchaudio._lfilter_core_loop.default", lfilter},
    {"torchaudio._overdrive_core_loop.default", overdrive},
    {"torchaudio.forced_align.default", forced_align},
    {"torchaudio.rnnt_loss_forward.default", rnnt_loss},
};

}  // namespace

std::span<const Lowering> audio_lowerings() {
  return kAudioLowerings;
}

}  // namespace tern
