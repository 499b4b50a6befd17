// Lowerings of recurrent layers and their cells, and of weight normalisation.
#include "exporter/lower/contraction.h"
#include "schema/window_kinds.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

Values recurrent(Builder& b, const Call& c, RnnKind kind) {
  const bool lstm = kind == RnnKind::lstm;
  if (c.flag("train") && c.number("dropout") != 0.0)
    c.unsupported("dropout between layers is not supported; export the model in eval mode");
  const std::int64_t layers = c.integer("num_layers");
  const bool bidirectional = c.flag("bidirectional"), batch_first = c.flag("batch_first"),
             biases = c.flag("has_biases");
  const Values& params = c.tensors("params");
  const std::size_t cells =
      static_cast<std::size_t>(std::clamp<std::int64_t>(layers, 0, std::ssize(params))) * (bidirectional ? 2 : 1);
  const std::size_t gate_params = biases ? 4 : 2;
  if (cells == 0 || params.size() % cells != 0)
    c.unsupported("the number of parameters is not a multiple of the number of layers");
  const std::size_t params_per_cell = params.size() / cells;
  if (params_per_cell != gate_params && !(lstm && params_per_cell == gate_params + 1))
    c.unsupported("the layers have a wrong number of parameters");
  ValueId x = c.tensor("input");
  if (b.rank(x) != 3) c.unsupported("the input must have 3 axes");
  if (batch_first) x = b.transpose(x, 0, 1);
  Values inputs{x};
  if (lstm) {
    const Values& hx = c.tensors("hx");
    if (hx.size() != 2) c.unsupported("the state must be a pair");
    inputs.insert(inputs.end(), hx.begin(), hx.end());
  } else {
    inputs.push_back(c.tensor("hx"));
    inputs.push_back(kNoValue);
  }
  for (std::size_t i = 0; i < cells; ++i) {
    const auto it = params.begin() + static_cast<std::ptrdiff_t>(i * params_per_cell);
    inputs.push_back(it[0]);
    inputs.push_back(it[1]);
    inputs.push_back(biases ? it[2] : kNoValue);
    inputs.push_back(biases ? it[3] : kNoValue);
    inputs.push_back(params_per_cell > gate_params ? it[static_cast<std::ptrdiff_t>(gate_params)] : kNoValue);
  }
  Values r = b.add_all(Op::rnn, inputs,
                       {attr(AttrKey::kind, Dim(static_cast<std::int64_t>(kind))), attr(AttrKey::layers, Dim(layers)),
                        attr(AttrKey::bidirectional, Dim(bidirectional ? 1 : 0))});
  if (batch_first) r[0] = b.transpose(r[0], 0, 1);
  return r;
}

Values lstm(Builder& b, const Call& c) {
  return recurrent(b, c, RnnKind::lstm);
}
Values gru(Builder& b, const Call& c) {
  return recurrent(b, c, RnnKind::gru);
}
Values rnn_tanh(Builder& b, const Call& c) {
  return recurrent(b, c, RnnKind::tanh);
}
Values rnn_relu(Builder& b, const Call& c) {
  return recurrent(b, c, RnnKind::relu);
}

/// Runs one step as a sequence of length 1; a single sample is a batch of one.
Values cell(Builder& b, const Call& c, RnnKind kind) {
  const bool lstm = kind == RnnKind::lstm;
  ValueId x = c.tensor("input");
  Values state = lstm ? c.tensors("hx") : Values{c.tensor("hx"), kNoValue};
  if (state.size() != 2) c.unsupported("the state must be a pair");
  const bool batched = b.rank(x) == 2;
  const auto grow = [&](ValueId v) { return v == kNoValue ? v : b.unsqueeze(batched ? v : b.unsqueeze(v, 0), 0); };
  const Values r =
      b.add_all(Op::rnn,
                {grow(x), grow(state[0]), grow(state[1]), c.tensor("w_ih"), c.tensor("w_hh"), c.tensor_or_none("b_ih"),
                 c.tensor_or_none("b_hh"), kNoValue},
                {attr(AttrKey::kind, Dim(static_cast<std::int64_t>(kind))), attr(AttrKey::layers, Dim(1))});
  const auto shrink = [&](ValueId v) { return batched ? b.squeeze(v, 0) : b.squeeze(b.squeeze(v, 0), 0); };
  if (lstm) return {shrink(r[1]), shrink(r[2])};
  return {shrink(r[1])};
}

Values lstm_cell(Builder& b, const Call& c) {
  return cell(b, c, RnnKind::lstm);
}
Values gru_cell(Builder& b, const Call& c) {
  return cell(b, c, RnnKind::gru);
}
Values rnn_tanh_cell(Builder& b, const Call& c) {
  return cell(b, c, RnnKind::tanh);
}
Values rnn_relu_cell(Builder& b, const Call& c) {
  return cell(b, c, RnnKind::relu);
}

/// Scales v to norm g over all axes but `dim`.
/// The normalized weight, and the norms.
Values weight_norm(Builder& b, const Call& c) {
  const ValueId v = c.tensor("v"), g = c.tensor("g");
  const std::int64_t dim = c.integer_or("dim", 0);
  const DType result = c.result_dtype(), compute_dtype = compute_type(result);
  std::vector<std::int64_t> axes = b.all_axes(v);
  if (dim != -1) axes.erase(axes.begin() + b.normal_axis(v, dim));
  const ValueId square = b.reduce(b.expr("v * v", {{"v", v}}, compute_dtype), "sum", axes, true, compute_dtype);
  return {b.expr("v * (g / sqrt(n))", {{"v", v}, {"g", g}, {"n", square}}, compute_dtype, result),
          b.expr("sqrt(n)", {{"n", square}}, compute_dtype, b.dtype(g))};
}
Values weight_norm_alone(Builder& b, const Call& c) {
  return {weight_norm(b, c).front()};
}

constexpr Lowering kRecurrentLowerings[] = {
    {"aten.lstm.input", lstm},
    {"aten.gru.input", gru},
    {"aten.rnn_tanh.input", rnn_tanh},
    {"aten.rnn_relu.input", rnn_relu},
    {"aten.lstm_cell.default", lstm_cell},
    {"aten.gru_cell.default", gru_cell},
    {"aten.rnn_tanh_cell.default", rnn_tanh_cell},
    {"aten.rnn_relu_cell.default", rnn_relu_cell},
    {"aten._weight_norm.default", weight_norm_alone},
    {"aten._weight_norm_interface.default", weight_norm},
};

}  // namespace

std::span<const Lowering> recurrent_lowerings() {
  return kRecurrentLowerings;
}

}  // namespace tern
