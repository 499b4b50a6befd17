// Rule of recurrent layers. The forward op outputs the states of the last layer alone, so all layers run again, each
// direction as its own layer. Gates then are products over all steps at once; only the gradient flow from step to
// previous step remains a loop, from the last step to the first.
#include "exporter/gradients/body.h"
#include "exporter/gradients/differentiate.h"
#include "exporter/gradients/rules.h"
#include "exporter/gradients/shapes.h"
#include "exporter/lower/linalg.h"
#include "schema/window_kinds.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

/// A function with inputs of the types of a loop's operands: those mapped without their first axis.
class RnnBody {
 public:
  RnnBody(Builder& outer, std::string name) : outer_(outer), number_(new_function(outer.program(), std::move(name))) {}
  Builder builder() { return Builder(outer_.program(), number_); }
  ValueId carried(Builder& b, ValueId like) { return new_input(b, TensorType(outer_.type(like)), "carried"); }
  ValueId slice(Builder& b, ValueId like) {
    TensorType t = outer_.type(like);
    t.shape.erase(t.shape.begin());
    return new_input(b, t, "step");
  }
  std::uint32_t number() const { return number_; }

 private:
  Builder& outer_;
  std::uint32_t number_;
};

Values loop(Builder& b, std::uint32_t body, const Values& carried, const Values& slices, const Values& constants) {
  Node n;
  n.op = Op::scan_loop;
  n.inputs = carried;
  n.inputs.insert(n.inputs.end(), slices.begin(), slices.end());
  n.inputs.insert(n.inputs.end(), constants.begin(), constants.end());
  n.attrs = {attr(AttrKey::carried, Dim(static_cast<std::int64_t>(carried.size()))),
             attr(AttrKey::mapped, Dim(static_cast<std::int64_t>(slices.size())))};
  n.functions = {body};
  return b.add(std::move(n));
}

/// A layer in one direction: operands in the type of sums, sequences in the order of steps.
struct Layer {
  ValueId x, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr;
  ValueId h;           ///< the states after each step
  ValueId gy, gh, gc;  ///< the gradients of h, and of the last states
};
struct LayerGradients {
  ValueId x = kNoValue, h0 = kNoValue, c0 = kNoValue, w_ih = kNoValue, w_hh = kNoValue, b_ih = kNoValue,
          b_hh = kNoValue, w_hr = kNoValue;
};

class Cells {
 public:
  Cells(Builder& b, RnnKind kind, const Layer& l) : b_(b), kind_(kind), l_(l), t_(b.dtype(l.x)) {
    previous_states_ = shifted(l.h0, l.h);
  }

  LayerGradients run() {
    switch (kind_) {
      case RnnKind::lstm: return lstm();
      case RnnKind::gru: return gru();
      case RnnKind::tanh:
      case RnnKind::relu: return simple_rnn();
    }
    return {};
  }

 private:
  /// The state before each step.
  ValueId shifted(ValueId first, ValueId states) {
    const ValueId start = b_.unsqueeze(first, 0);
    return b_.concat({start, b_.slice(states, 0, 0, b_.pool().sub(b_.size(states, 0), 1))}, 0);
  }
  ValueId product(ValueId x, ValueId weight, ValueId bias) {
    return b_.add(Op::matmul, {x, b_.transpose(weight, 0, 1), bias});
  }
  /// x^T y over all steps and samples.
  ValueId over_steps(ValueId x, ValueId y) {
    const auto rows = [&](ValueId v) {
      return b_.reshape(v, {b_.pool().mul(b_.size(v, 0), b_.size(v, 1)), b_.size(v, 2)});
    };
    return b_.matmul(b_.transpose(rows(x), 0, 1), rows(y));
  }
  ValueId summed(ValueId v) { return b_.reduce(v, "sum", {0, 1}, false, t_); }
  ValueId backwards(ValueId v) { return b_.flip(v, {0}); }
  ValueId gate(Builder& b, ValueId v, int k, Dim hidden) { return b.slice(v, -1, b.pool().mul(k, hidden), hidden); }

  /// Gradients common to all cells. `from_x` and `from_h` are the gradients of W_ih x + b_ih and W_hh h + b_hh.
  LayerGradients weights(ValueId from_x, ValueId from_h, ValueId h0) {
    LayerGradients r;
    r.x = b_.matmul(from_x, l_.w_ih);
    r.h0 = h0;
    r.w_ih = over_steps(from_x, l_.x);
    r.w_hh = over_steps(from_h, previous_states_);
    r.b_ih = summed(from_x);
    r.b_hh = summed(from_h);
    return r;
  }

  LayerGradients simple_rnn() {
    const char* slope = kind_ == RnnKind::tanh ? "d * (1 - h * h)" : "h > 0 ? d : 0";
    RnnBody body(b_, "rnn.gradient");
    Builder s = body.builder();
    const ValueId gh = body.carried(s, l_.gh);
    const ValueId gy = body.slice(s, l_.gy), h = body.slice(s, l_.h), w = body.carried(s, l_.w_hh);
    const ValueId total = s.expr("g + y", {{"g", gh}, {"y", gy}}, t_);
    const ValueId ga = s.expr(slope, {{"d", total}, {"h", h}}, t_);
    new_output(s, s.matmul(ga, w));
    new_output(s, ga);
    const Values r = loop(b_, body.number(), {l_.gh}, {backwards(l_.gy), backwards(l_.h)}, {l_.w_hh});
    const ValueId steps = backwards(r[1]);
    return weights(steps, steps, r[0]);
  }

  LayerGradients gru() {
    const Dim hidden = b_.size(l_.h, -1);
    const ValueId from_x = product(l_.x, l_.w_ih, l_.b_ih), from_h = product(previous_states_, l_.w_hh, l_.b_hh);
    const auto sigmoid_of = [&](int k) {
      return b_.expr("sigmoid(x + h)", {{"x", gate(b_, from_x, k, hidden)}, {"h", gate(b_, from_h, k, hidden)}}, t_);
    };
    const ValueId reset = sigmoid_of(0), update_gate = sigmoid_of(1), state = gate(b_, from_h, 2, hidden);
    const ValueId new_gate =
        b_.expr("tanh(x + r * h)", {{"x", gate(b_, from_x, 2, hidden)}, {"r", reset}, {"h", state}}, t_);
    RnnBody body(b_, "gru.gradient");
    Builder s = body.builder();
    const ValueId gh = body.carried(s, l_.gh), gy = body.slice(s, l_.gy);
    const ValueId r = body.slice(s, reset), z = body.slice(s, update_gate), n = body.slice(s, new_gate),
                  u = body.slice(s, state);
    const ValueId previous_state = body.slice(s, previous_states_), w = body.carried(s, l_.w_hh);
    const ValueId total = s.expr("g + y", {{"g", gh}, {"y", gy}}, t_);
    const ValueId gn = s.expr("d * (1 - z) * (1 - n * n)", {{"d", total}, {"z", z}, {"n", n}}, t_);
    const ValueId gz =
        s.expr("d * (h - n) * z * (1 - z)", {{"d", total}, {"h", previous_state}, {"n", n}, {"z", z}}, t_);
    const ValueId gr = s.expr("g * u * r * (1 - r)", {{"g", gn}, {"u", u}, {"r", r}}, t_);
    const ValueId gu = s.expr("g * r", {{"g", gn}, {"r", r}}, t_);
    const ValueId to_h = s.concat({gr, gz, gu}, -1);
    new_output(s, s.expr("d * z + m", {{"d", total}, {"z", z}, {"m", s.matmul(to_h, w)}}, t_));
    new_output(s, s.concat({gr, gz, gn}, -1));
    new_output(s, to_h);
    Values slices;
    for (ValueId v : {l_.gy, reset, update_gate, new_gate, state, previous_states_}) slices.push_back(backwards(v));
    const Values results = loop(b_, body.number(), {l_.gh}, slices, {l_.w_hh});
    return weights(backwards(results[1]), backwards(results[2]), results[0]);
  }

  LayerGradients lstm() {
    const Dim hidden = b_.size(l_.c0, -1);
    const ValueId raw = b_.expr(
        "x + h", {{"x", product(l_.x, l_.w_ih, l_.b_ih)}, {"h", product(previous_states_, l_.w_hh, l_.b_hh)}}, t_);
    const auto activated = [&](int k, const char* text) {
      return b_.expr(text, {{"x", gate(b_, raw, k, hidden)}}, t_);
    };
    const ValueId input_gate = activated(0, "sigmoid(x)"), forget = activated(1, "sigmoid(x)"),
                  cell = activated(2, "tanh(x)"), output_gate = activated(3, "sigmoid(x)");
    const ValueId states = cells(forget, b_.expr("i * g", {{"i", input_gate}, {"g", cell}}, t_));
    const ValueId previous_cells = shifted(l_.c0, states);
    const bool projects = l_.w_hr != kNoValue;

    RnnBody body(b_, "lstm.gradient");
    Builder s = body.builder();
    const ValueId gh = body.carried(s, l_.gh), gc = body.carried(s, l_.gc), gy = body.slice(s, l_.gy);
    const ValueId i = body.slice(s, input_gate), f = body.slice(s, forget), g = body.slice(s, cell),
                  o = body.slice(s, output_gate);
    const ValueId c = body.slice(s, states), previous_cell = body.slice(s, previous_cells),
                  w = body.carried(s, l_.w_hh);
    const ValueId projection = projects ? body.carried(s, l_.w_hr) : kNoValue;
    const ValueId total = s.expr("g + y", {{"g", gh}, {"y", gy}}, t_);
    const ValueId d = projects ? s.matmul(total, projection) : total;
    const ValueId dc = s.expr("e = tanh(c); x + d * o * (1 - e * e)", {{"c", c}, {"x", gc}, {"d", d}, {"o", o}}, t_);
    const ValueId gates = s.concat({s.expr("d * g * i * (1 - i)", {{"d", dc}, {"g", g}, {"i", i}}, t_),
                                    s.expr("d * h * f * (1 - f)", {{"d", dc}, {"h", previous_cell}, {"f", f}}, t_),
                                    s.expr("d * i * (1 - g * g)", {{"d", dc}, {"i", i}, {"g", g}}, t_),
                                    s.expr("d * tanh(c) * o * (1 - o)", {{"d", d}, {"c", c}, {"o", o}}, t_)},
                                   -1);
    new_output(s, s.matmul(gates, w));
    new_output(s, s.expr("d * f", {{"d", dc}, {"f", f}}, t_));
    new_output(s, gates);
    if (projects) new_output(s, total);
    Values slices;
    for (ValueId v : {l_.gy, input_gate, forget, cell, output_gate, states, previous_cells})
      slices.push_back(backwards(v));
    Values constants = {l_.w_hh};
    if (projects) constants.push_back(l_.w_hr);
    const Values r = loop(b_, body.number(), {l_.gh, l_.gc}, slices, constants);
    const ValueId steps = backwards(r[2]);
    LayerGradients result = weights(steps, steps, r[0]);
    result.c0 = r[1];
    if (projects) {
      const ValueId unprojected = b_.expr("o * tanh(c)", {{"o", output_gate}, {"c", states}}, t_);
      result.w_hr = over_steps(backwards(r[3]), unprojected);
    }
    return result;
  }
  /// Cell state after each step: the remembered part of the previous cell, and the new part.
  ValueId cells(ValueId forget, ValueId cell_input) {
    RnnBody body(b_, "lstm.cells");
    Builder s = body.builder();
    const ValueId c = body.carried(s, l_.c0), f = body.slice(s, forget), n = body.slice(s, cell_input);
    const ValueId next = s.expr("f * c + n", {{"f", f}, {"c", c}, {"n", n}}, t_);
    new_output(s, next);
    new_output(s, next);
    return loop(b_, body.number(), {l_.c0}, {forget, cell_input}, {})[1];
  }

  Builder& b_;
  RnnKind kind_;
  Layer l_;
  DType t_;
  ValueId previous_states_;
};

}  // namespace

void differentiate_rnn(GradientCall& c) {
  Builder& b = c.b;
  const auto kind = static_cast<RnnKind>(c.node.integer(AttrKey::kind));
  const std::int64_t layers = c.node.integer(AttrKey::layers), directions = c.flag(AttrKey::bidirectional) ? 2 : 1;
  const DType compute_dtype = compute_type(b.dtype(c.operand(0)));
  const Dim width = b.size(c.operand(1), -1);
  const auto operands = [](std::int64_t layer) { return static_cast<std::size_t>(3 + 5 * layer); };
  const auto first_slice = [&](ValueId v, std::int64_t k) { return v == kNoValue ? v : b.slice(v, 0, k, 1); };

  // Input of each layer, and its states by direction in the order of steps.
  Values inputs = {c.operand(0)};
  std::vector<Values> states;
  for (std::int64_t l = 0; l < layers; ++l) {
    Values direction_results, in_time;
    for (std::int64_t d = 0; d < directions; ++d) {
      const std::int64_t k = l * directions + d;
      if (l + 1 == layers) {
        const ValueId y = b.slice(c.result(0), -1, b.pool().mul(d, width), width);
        direction_results.push_back(d == 1 ? b.flip(y, {0}) : y);
        continue;
      }
      Node n = c.node;
      n.outputs.clear();
      n.set(AttrKey::layers, Dims{1});
      n.set(AttrKey::bidirectional, Dims{0});
      n.inputs = {d == 1 ? b.flip(inputs.back(), {0}) : inputs.back(), first_slice(c.operand(1), k),
                  first_slice(c.operand(2), k)};
      for (std::size_t i = 0; i < 5; ++i) n.inputs.push_back(c.operand(operands(k) + i));
      direction_results.push_back(b.add(std::move(n)).front());
      in_time.push_back(d == 1 ? b.flip(direction_results.back(), {0}) : direction_results.back());
    }
    states.push_back(direction_results);
    if (l + 1 < layers) inputs.push_back(b.concat(in_time, -1));
  }

  Values h0(static_cast<std::size_t>(layers * directions)), c0 = h0;
  ValueId gy = b.cast(c.grad_or_zeros(0), compute_dtype);
  for (std::int64_t l = layers; l-- > 0;) {
    ValueId to_input = kNoValue;
    for (std::int64_t d = 0; d < directions; ++d) {
      const std::int64_t k = l * directions + d;
      const std::size_t index = operands(k);
      const auto in_direction_order = [&](ValueId v) { return d == 1 ? b.flip(v, {0}) : v; };
      const auto of_layer = [&](ValueId v) { return v == kNoValue ? v : b.cast(b.select(v, 0, k), compute_dtype); };
      const auto operand = [&](std::size_t i) {
        return c.has_operand(i) ? b.cast(c.operand(i), compute_dtype) : kNoValue;
      };
      const auto last_state = [&](std::size_t i, std::size_t like) {
        return c.grad(i) == kNoValue ? zeros_like(b, of_layer(c.operand(like))) : of_layer(c.grad(i));
      };
      const Layer layer{.x = in_direction_order(b.cast(inputs[static_cast<std::size_t>(l)], compute_dtype)),
                        .h0 = of_layer(c.operand(1)),
                        .c0 = of_layer(c.operand(2)),
                        .w_ih = operand(index),
                        .w_hh = operand(index + 1),
                        .b_ih = operand(index + 2),
                        .b_hh = operand(index + 3),
                        .w_hr = operand(index + 4),
                        .h = b.cast(states[static_cast<std::size_t>(l)][static_cast<std::size_t>(d)], compute_dtype),
                        .gy = in_direction_order(b.slice(gy, -1, b.pool().mul(d, width), width)),
                        .gh = last_state(1, 1),
                        .gc = kind == RnnKind::lstm ? last_state(2, 2) : kNoValue};
      const LayerGradients g = Cells(b, kind, layer).run();
      to_input = add_gradients(b, to_input, in_direction_order(g.x));
      h0[static_cast<std::size_t>(k)] = b.unsqueeze(g.h0, 0);
      if (kind == RnnKind::lstm) c0[static_cast<std::size_t>(k)] = b.unsqueeze(g.c0, 0);
      const ValueId weight_gradients[] = {g.w_ih, g.w_hh, g.b_ih, g.b_hh, g.w_hr};
      for (std::size_t i = 0; i < 5; ++i) c.add_gradient(index + i, weight_gradients[i]);
    }
    gy = to_input;
  }
  c.add_gradient(0, gy);
  if (c.needs_gradient(1)) c.add_gradient(1, b.concat(h0, 0));
  if (c.needs_gradient(2)) c.add_gradient(2, b.concat(c0, 0));
}

}  // namespace tern
