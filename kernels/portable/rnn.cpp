// rnn: for each layer and direction a launch for the inputs' share of the gates of all steps, then a launch for each
// step.
#include <tern/error.h>

#include <algorithm>

#include "kernels/portable/definitions.h"
#include "kernels/portable/launches.h"
#include "schema/window_kinds.h"

namespace tern::portable {
namespace {

class Rnn {
 public:
  Rnn(const KernelCall& c, Launches& list) : c_(c), list_(list), t_(compute_type(c.in[0].dtype)) {
    const Node& node = *c.node;
    kind_ = static_cast<RnnKind>(node.integer(AttrKey::kind));
    layers_ = node.integer(AttrKey::layers);
    directions_ = node.integer(AttrKey::bidirectional) != 0 ? 2 : 1;
    steps_ = c.in[0].size(0);
    batch_ = c.in[0].size(1);
    input_ = c.in[0].size(2);
    projected_ = c.in[1].size(2);
    hidden_ = lstm() ? c.in[2].size(2) : projected_;
    gate_count_ = lstm() ? 4 : kind_ == RnnKind::gru ? 3 : 1;
  }

  void add() {
    if (steps_ == 0) fail(ErrorCode::runtime, "a recurrent network needs at least one step");
    if (projected_ == 0 && hidden_ > 0)
      fail(ErrorCode::runtime, "a recurrent network projects its state to no features");
    if (batch_ * projected_ == 0) return;
    const std::int64_t width = directions_ * projected_;
    from_input_ = scratch(steps_ * batch_ * gate_count_ * hidden_);
    cell_ = scratch(batch_ * hidden_);
    fresh_ = scratch(batch_ * hidden_);
    std::uint64_t from = scratch(steps_ * batch_ * width), to = scratch(steps_ * batch_ * width);
    for (std::int64_t layer = 0; layer < layers_; ++layer) {
      for (std::int64_t d = 0; d < directions_; ++d) add_cell(layer, d, from, to);
      std::swap(from, to);
    }
    if (c_.wants_output(0)) store(0, 0, from, 0, steps_ * batch_, width, width);
  }

 private:
  bool lstm() const { return kind_ == RnnKind::lstm; }
  std::uint64_t scratch(std::int64_t count) {
    return list_.scratch(static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(element_size(t_)));
  }
  /// Operand `input`, in rows.
  void weight(Launch& k, const std::string& name, const std::string& load, std::size_t input) const {
    const TensorView& w = c_.in[input];
    k.input(name, input, w.dtype);
    k.load(load, w.dtype, t_);
    k.parameter(name + "_row", w.stride(0));
    k.parameter(name + "_column", w.stride(1));
  }
  void bias(Launch& k, std::size_t input) const {
    const bool there = c_.has_input(input);
    const DType t = there ? c_.in[input].dtype : c_.in[0].dtype;
    k.optional_input("BIAS", "bias", input, t, there);
    k.load("LOAD_BIAS", t, t_);
    k.parameter("bias_row", there ? c_.in[input].stride(0) : 0);
  }

  /// Copies rows of the scratch to an output.
  void store(std::size_t output, std::int64_t at, std::uint64_t from, std::int64_t from_at, std::int64_t rows,
             std::int64_t width, std::int64_t from_row) {
    Launch k("rnn_store");
    k.scratch("x", from, t_, false);
    k.output("y", output, c_.out[output].dtype);
    k.store("STORE", t_, c_.out[output].dtype);
    k.parameter("count", rows * width);
    k.parameter("width", width);
    k.parameter("x_at", from_at);
    k.parameter("x_row", from_row);
    k.parameter("y_at", at);
    list_.add(std::move(k), rows * width);
  }

  void add_inputs(std::int64_t layer, std::size_t first, std::uint64_t from) {
    const std::int64_t width = layer == 0 ? input_ : directions_ * projected_, gates = gate_count_ * hidden_;
    Launch k("rnn_input");
    k.type("T", t_);
    if (layer == 0) {
      k.input("x", 0, c_.in[0].dtype);
      k.load("LOAD_X", c_.in[0].dtype, t_);
      k.parameter("x_step", c_.in[0].stride(0));
      k.parameter("x_row", c_.in[0].stride(1));
      k.parameter("x_column", c_.in[0].stride(2));
    } else {
      k.scratch("x", from, t_, false);
      k.load("LOAD_X", t_, t_);
      k.parameter("x_step", batch_ * width);
      k.parameter("x_row", width);
      k.parameter("x_column", std::int64_t{1});
    }
    weight(k, "w", "LOAD_W", first);
    bias(k, first + 2);
    k.scratch("y", from_input_, t_, true);
    k.parameter("count", steps_ * batch_ * gates);
    k.parameter("batch", batch_);
    k.parameter("gates", gates);
    k.parameter("width", width);
    list_.add(std::move(k), steps_ * batch_ * gates);
  }

  /// State at the begin of a step: the operand, or the previous step's result in `to`.
  void previous(Launch& k, std::int64_t cell, bool begins, std::uint64_t to, std::int64_t at) const {
    const TensorView& h = c_.in[1];
    if (begins) {
      k.input("h", 1, h.dtype);
      k.load("LOAD_H", h.dtype, t_);
      k.parameter("h_at", cell * h.stride(0));
      k.parameter("h_row", h.stride(1));
      k.parameter("h_column", h.stride(2));
    } else {
      k.scratch("h", to, t_, false);
      k.load("LOAD_H", t_, t_);
      k.parameter("h_at", at);
      k.parameter("h_row", directions_ * projected_);
      k.parameter("h_column", std::int64_t{1});
    }
  }

  void add_step(std::int64_t cell, std::size_t first, std::int64_t i, std::uint64_t to) {
    const std::int64_t direction = cell % directions_, row = directions_ * projected_;
    const auto position = [&](std::int64_t at) {
      return (direction == 0 ? at : steps_ - 1 - at) * batch_ * row + direction * projected_;
    };
    const bool projects = c_.has_input(first + 4);
    Launch k("rnn_step");
    k.type("T", t_);
    k.source.math("MATH", t_);
    k.source.define("KIND", static_cast<std::int64_t>(kind_));
    k.source.define("PARTS", gate_count_);
    k.scratch("from_input", from_input_, t_, false);
    previous(k, cell, i == 0, to, i == 0 ? 0 : position(i - 1));
    weight(k, "w", "LOAD_W", first + 1);
    bias(k, first + 3);
    if (lstm()) {
      const TensorView& c0 = c_.in[2];
      if (i == 0) {
        k.input("before", 2, c0.dtype);
      } else {
        k.scratch("before", cell_, t_, false);
      }
      k.load("LOAD_C", i == 0 ? c0.dtype : t_, t_);
      k.parameter("c_at", i == 0 ? cell * c0.stride(0) : 0);
      k.parameter("c_row", i == 0 ? c0.stride(1) : hidden_);
      k.parameter("c_column", i == 0 ? c0.stride(2) : 1);
      k.scratch("cell", cell_, t_, true);
    }
    k.scratch("y", projects ? fresh_ : to, t_, true);
    k.parameter("y_at", projects ? 0 : position(i));
    k.parameter("y_row", projects ? hidden_ : row);
    k.parameter("step", direction == 0 ? i : steps_ - 1 - i);
    k.parameter("count", batch_ * hidden_);
    k.parameter("batch", batch_);
    k.parameter("hidden", hidden_);
    k.parameter("projected", projected_);
    list_.add(std::move(k), batch_ * hidden_);
    if (!projects) return;
    Launch p("rnn_project");
    p.type("T", t_);
    p.scratch("x", fresh_, t_, false);
    weight(p, "w", "LOAD_W", first + 4);
    p.scratch("y", to, t_, true);
    p.parameter("y_at", position(i));
    p.parameter("y_row", row);
    p.parameter("count", batch_ * projected_);
    p.parameter("hidden", hidden_);
    p.parameter("projected", projected_);
    list_.add(std::move(p), batch_ * projected_);
  }

  void add_cell(std::int64_t layer, std::int64_t direction, std::uint64_t from, std::uint64_t to) {
    const std::int64_t cell = layer * directions_ + direction, row = directions_ * projected_;
    const auto first = static_cast<std::size_t>(3 + 5 * cell);
    add_inputs(layer, first, from);
    for (std::int64_t i = 0; i < steps_; ++i) add_step(cell, first, i, to);
    const std::int64_t last = direction == 0 ? steps_ - 1 : 0;
    if (c_.wants_output(1)) {
      store(1, cell * batch_ * projected_, to, last * batch_ * row + direction * projected_, batch_, projected_, row);
    }
    if (lstm() && c_.wants_output(2)) store(2, cell * batch_ * hidden_, cell_, 0, batch_, hidden_, hidden_);
  }

  const KernelCall& c_;
  Launches& list_;
  DType t_;
  RnnKind kind_;
  std::int64_t layers_, directions_, steps_, batch_, input_, projected_, hidden_, gate_count_;
  std::uint64_t from_input_ = 0, cell_ = 0, fresh_ = 0;
};

void rnn(const KernelCall& c, Launches& list) {
  Rnn(c, list).add();
}

constexpr std::string_view kRnnSamples[] = {
    "T=f32|f64: T[2,2,4], T[1,2,4], T[1,2,4], T[16,4], T[16,4], T[16], T[16], -; kind=lstm, layers=1",
    "T=f32|f64: T[2,2,4], T[1,2,3], T[1,2,4], T[16,4], T[16,3], T[16], T[16], T[3,4]; kind=lstm, layers=1",
    "T=f32|f64: T[2,2,4], T[1,2,4], -, T[12,4], T[12,4], T[12], T[12], -; kind=gru, layers=1",
    "T=f32|f64: T[2,2,4], T[1,2,4], -, T[4,4], T[4,4], T[4], T[4], -; kind=tanh|relu, layers=1",
};

}  // namespace

void define_rnn(Definitions& d) {
  d.set(Op::rnn, kernel<rnn>(), {.samples = kRnnSamples});
}

}  // namespace tern::portable
