// Recurrent layers over packed sequences: the rows of all sequences at time 0, then the rows at time 1 of the longer
// sequences, and so on. A loop over time runs the sequences side by side and holds the state of finished sequences.
#include <string>

#include "exporter/lower/contraction.h"
#include "exporter/lower/reduction.h"
#include "schema/window_kinds.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

/// Parameters of one layer in one direction; absent parameters are kNoValue.
struct Cell {
  ValueId input_weight, weight, input_bias = kNoValue, bias = kNoValue, projection = kNoValue;
};

std::int64_t gates(RnnKind kind) {
  return kind == RnnKind::lstm ? 4 : kind == RnnKind::gru ? 3 : 1;
}

/// x W^T + bias, with W [out, in].
ValueId linear_packed(Builder& b, ValueId x, ValueId weight, ValueId bias) {
  const ValueId y = product(b, x, b.transpose(weight, 0, 1));
  return bias == kNoValue ? y : b.expr("y + b", {{"y", y}, {"b", bias}}, b.dtype(y));
}

/// Computes the new hidden state [B, out], and an LSTM's new cell state, from the gates' input part.
Values step(Builder& b, RnnKind kind, const Values& state, ValueId input, const Cell& cell) {
  const DType t = b.dtype(input);
  const ValueId hidden = linear_packed(b, state[0], cell.weight, cell.bias);
  const Dim width = b.pool().floordiv(b.size(cell.weight, 0), gates(kind));
  const auto slice = [&](ValueId v, std::int64_t k) { return b.slice(v, 1, b.pool().mul(width, k), width); };
  if (kind == RnnKind::lstm) {
    const ValueId gate_sums = b.expr("x + h", {{"x", input}, {"h", hidden}}, t);
    const ValueId c = b.expr(
        "sigmoid(f) * c + sigmoid(i) * tanh(g)",
        {{"i", slice(gate_sums, 0)}, {"f", slice(gate_sums, 1)}, {"g", slice(gate_sums, 2)}, {"c", state[1]}}, t);
    const ValueId h = b.expr("sigmoid(o) * tanh(c)", {{"o", slice(gate_sums, 3)}, {"c", c}}, t);
    return {cell.projection == kNoValue ? h : linear_packed(b, h, cell.projection, kNoValue), c};
  }
  if (kind == RnnKind::gru) {
    return {b.expr("z = sigmoid(xz + hz); n = tanh(xn + sigmoid(xr + hr) * hn); (h - n) * z + n",
                   {{"xr", slice(input, 0)},
                    {"xz", slice(input, 1)},
                    {"xn", slice(input, 2)},
                    {"hr", slice(hidden, 0)},
                    {"hz", slice(hidden, 1)},
                    {"hn", slice(hidden, 2)},
                    {"h", state[0]}},
                   t)};
  }
  return {b.expr(kind == RnnKind::tanh ? "tanh(x + h)" : "max(x + h, 0)", {{"x", input}, {"h", hidden}}, t)};
}

/// Runs one layer in one direction. Returns the last states, then the hidden states of all times, [T, B, out].
Values run(Builder& b, RnnKind kind, const Values& state, ValueId x, ValueId valid, const Cell& cell, bool backward) {
  ValueId input = linear_packed(b, x, cell.input_weight, cell.input_bias);
  if (backward) input = b.flip(input, {0});
  if (backward) valid = b.flip(valid, {0});
  Node loop;
  loop.op = Op::scan_loop;
  loop.inputs = state;
  loop.inputs.insert(loop.inputs.end(), {input, valid, cell.weight});
  for (ValueId v : {cell.bias, cell.projection}) {
    if (v != kNoValue) loop.inputs.push_back(v);
  }
  loop.set(AttrKey::carried, Dims{static_cast<std::int64_t>(state.size())});
  loop.set(AttrKey::mapped, Dims{2});

  const auto number = static_cast<std::uint32_t>(b.program().functions.size());
  b.program().functions.emplace_back().name = b.function().name + ".rnn_step";
  Builder f(b.program(), number);
  Values step_inputs;
  for (std::size_t i = 0; i < loop.inputs.size(); ++i) {
    TensorType type = b.type(loop.inputs[i]);
    if (i == state.size() || i == state.size() + 1) type.shape.erase(type.shape.begin());
    step_inputs.push_back(f.add_value(std::move(type)));
    f.function().inputs.push_back({FunctionInput::Kind::user, step_inputs.back(), 0, "in" + std::to_string(i), {}});
  }
  auto next = step_inputs.begin() + static_cast<std::ptrdiff_t>(state.size()) + 2;
  Cell inner{kNoValue, *next++};
  if (cell.bias != kNoValue) inner.bias = *next++;
  if (cell.projection != kNoValue) inner.projection = *next;
  const Values old_state(step_inputs.begin(), step_inputs.begin() + static_cast<std::ptrdiff_t>(state.size()));
  Values new_state = step(f, kind, old_state, step_inputs[state.size()], inner);
  for (std::size_t i = 0; i < new_state.size(); ++i) {
    new_state[i] = f.expr(
        "v ? n : o", {{"v", f.unsqueeze(step_inputs[state.size() + 1], 1)}, {"n", new_state[i]}, {"o", old_state[i]}},
        f.dtype(old_state[i]));
  }
  new_state.push_back(new_state[0]);
  for (ValueId v : new_state) {
    const std::string name = "out" + std::to_string(f.function().outputs.size());
    f.function().outputs.push_back({FunctionOutput::Kind::tensor, v, name});
  }
  loop.functions = {number};
  Values r = b.add(std::move(loop));
  if (backward) r.back() = b.flip(r.back(), {0});
  return r;
}

Values packed(Builder& b, const Call& c, RnnKind kind) {
  const bool lstm = kind == RnnKind::lstm;
  if (c.flag("train") && c.number("dropout") != 0.0)
    c.unsupported("dropout between layers is not supported; export the model in eval mode");
  const std::int64_t layers = c.integer("num_layers"), directions = c.flag("bidirectional") ? 2 : 1;
  const bool biases = c.flag("has_biases");
  const Values& params = c.tensors("params");
  const std::size_t gate_params = biases ? 4 : 2;
  if (layers < 1 || layers > std::ssize(params) || params.size() % static_cast<std::size_t>(layers * directions) != 0)
    c.unsupported("the number of parameters is not a multiple of the number of layers");
  const std::size_t params_per_layer = params.size() / static_cast<std::size_t>(layers * directions);
  if (params_per_layer != gate_params && !(lstm && params_per_layer == gate_params + 1))
    c.unsupported("the layers have a wrong number of parameters");
  const Values states = lstm ? c.tensors("hx") : Values{c.tensor("hx")};
  if (states.size() != (lstm ? 2u : 1u)) c.unsupported("the state must be one tensor, or a pair for LSTM");

  // Unpacks rows to [T, B, in]; finished sequences read arbitrary rows.
  const ValueId data = c.tensor("data"), counts = b.cast(c.tensor("batch_sizes"), DType::i64);
  const Dim times = b.size(counts, 0), batch = b.size(states[0], 1), rows = b.size(data, 0);
  const ValueId step_ends = scan_along(b, counts, ScanKind::cumsum, 0, DType::i64);
  const ValueId step_begins = b.expr("e - n", {{"e", step_ends}, {"n", counts}}, DType::i64);
  const ValueId sequence = b.iota(batch, DType::i64);
  const ValueId valid = b.expr("i < n", {{"i", sequence}, {"n", b.unsqueeze(counts, 1)}}, DType::i64, DType::boolean);
  const ValueId row =
      b.expr("min(begin + i, last)",
             {{"begin", b.unsqueeze(step_begins, 1)}, {"i", sequence}, {"last", b.from_dim(b.pool().sub(rows, 1))}},
             DType::i64);
  ValueId x = b.reshape(b.index_select(data, b.flatten(row), 0), {times, batch, b.size(data, 1)});

  std::vector<Values> last(states.size());
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    Values outputs;
    for (std::int64_t direction = 0; direction < directions; ++direction) {
      const std::int64_t index = layer * directions + direction;
      const auto p = params.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(index) * params_per_layer);
      Cell cell{p[0], p[1]};
      if (biases) cell.input_bias = p[2];
      if (biases) cell.bias = p[3];
      if (params_per_layer > gate_params) cell.projection = p[static_cast<std::ptrdiff_t>(gate_params)];
      Values state;
      for (ValueId s : states) state.push_back(b.select(s, 0, index));
      const Values r = run(b, kind, state, x, valid, cell, direction == 1);
      for (std::size_t i = 0; i < states.size(); ++i) last[i].push_back(b.unsqueeze(r[i], 0));
      outputs.push_back(r.back());
    }
    x = b.concat(outputs, 2);
  }

  // Packs the rows again: a row's time is the number of times with an end before the row.
  const ValueId number = b.iota(rows, DType::i64);
  const ValueId time = b.add(Op::searchsorted, {step_ends, number}, {attr(AttrKey::right, Dim(1))});
  const ValueId position =
      b.expr("t * n + r - begin",
             {{"t", time}, {"n", b.from_dim(batch)}, {"r", number}, {"begin", b.index_select(step_begins, time, 0)}},
             DType::i64);
  const ValueId flat = b.reshape(x, {b.pool().mul(times, batch), b.size(x, 2)});
  Values results = {b.index_select(flat, position, 0)};
  for (const Values& state_parts : last) results.push_back(b.concat(state_parts, 0));
  return results;
}

template <RnnKind kind>
Values packed_of(Builder& b, const Call& c) {
  return packed(b, c, kind);
}

constexpr Lowering kRecurrentPackedLowerings[] = {
    {"aten.lstm.data", packed_of<RnnKind::lstm>},
    {"aten.gru.data", packed_of<RnnKind::gru>},
    {"aten.rnn_tanh.data", packed_of<RnnKind::tanh>},
    {"aten.rnn_relu.data", packed_of<RnnKind::relu>},
};

}  // namespace

std::span<const Lowering> packed_recurrent_lowerings() {
  return kRecurrentPackedLowerings;
}

}  // namespace tern
