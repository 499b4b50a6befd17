// rnn: multiplies the inputs of all steps at once, then step by step multiplies the state and applies the gates. The
// weights are read where they lie; threads share the units of a step, or each takes a direction.
#include <tern/error.h>

#include <algorithm>
#include <optional>
#include <type_traits>

#include "dtypes/convert.h"
#include "dtypes/small_float.h"
#include "dtypes/storage.h"
#include "kernels/cpu/contractions.h"
#include "kernels/cpu/dense.h"
#include "kernels/cpu/machine.h"
#include "kernels/cpu/pointwise/loops.h"
#include "kernels/cpu/products/float32/in_place_driver.h"
#include "kernels/cpu/products/gemm.h"
#include "kernels/cpu/products/tiles/row_driver.h"
#include "schema/window_kinds.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

struct Sizes {
  RnnKind kind;
  std::int64_t layers, directions, steps, batch, input, hidden, projected, gates;
};

Sizes sizes_of(const KernelCall& c) {
  const Node& node = *c.node;
  Sizes s{};
  s.kind = static_cast<RnnKind>(node.integer(AttrKey::kind));
  s.layers = node.integer(AttrKey::layers);
  s.directions = node.integer(AttrKey::bidirectional) != 0 ? 2 : 1;
  s.steps = c.in[0].size(0);
  s.batch = c.in[0].size(1);
  s.input = c.in[0].size(2);
  s.projected = c.in[1].size(2);
  s.hidden = s.kind == RnnKind::lstm ? c.in[2].size(2) : s.projected;
  s.gates = (s.kind == RnnKind::lstm ? 4 : s.kind == RnnKind::gru ? 3 : 1) * s.hidden;
  return s;
}

/// Scratch of a direction in the type of the sums.
template <class T>
struct DirectionBuffers {
  T* from_input;       ///< [steps, batch, gates]
  T* gate_sums;        ///< [batch, gates]; several threads: [gate, batch, units of the thread] for each
  T *h, *c;            ///< the state before the first step and after the last, [batch, projected] and [batch, hidden]
  T* cell_out;         ///< [batch, hidden], before a projection
  BFloat16* narrow_h;  ///< [batch, projected]: a state that meets a weight of bfloat16
  std::byte *packed, *packed_rows;      ///< a packed weight of bfloat16, and scratch memory of its products
  T *w_ih, *w_hh, *w_hr, *b_ih, *b_hh;  ///< converted or gathered weights
};

template <class T>
struct RnnBuffers {
  T *layer_in, *layer_out;  ///< [steps, batch, features]
  BFloat16* narrow_in;      ///< `layer_in` for weights of bfloat16
  DirectionBuffers<T> direction[2];
};

/// Products of the state by a packed weight of bfloat16 repay packing for several samples and steps.
std::optional<tiles::RowLinear> packed_state_product(const Sizes& s, DType type) {
  constexpr std::int64_t kSamples = 12, kSteps = 4;
  const tiles::TileLinearShape shape{s.batch, s.gates, s.projected, s.projected, s.projected, tiles::kRounded};
  if (type != DType::bf16 || s.batch < kSamples || s.steps < kSteps || !rows_pay() || !tiles::RowLinear::suits(shape))
    return std::nullopt;
  return tiles::RowLinear(shape);
}

template <class T>
RnnBuffers<T> buffers(const Sizes& s, DType type, ScratchArena& arena) {
  const std::int64_t width = std::max(s.input, s.directions * s.projected), rows = s.steps * s.batch;
  RnnBuffers<T> b{};
  b.layer_in = arena.allocate<T>(rows * width);
  b.layer_out = arena.allocate<T>(rows * width);
  b.narrow_in = arena.allocate<BFloat16>(rows * width);
  for (std::int64_t d = 0; d < s.directions; ++d) {
    DirectionBuffers<T>& r = b.direction[d];
    r.from_input = arena.allocate<T>(rows * s.gates);
    r.gate_sums = arena.allocate<T>(s.batch * s.gates);
    r.h = arena.allocate<T>(s.batch * s.projected);
    r.c = arena.allocate<T>(s.batch * s.hidden);
    r.cell_out = arena.allocate<T>(s.batch * s.hidden);
    r.narrow_h = arena.allocate<BFloat16>(s.batch * s.projected);
    r.packed = r.packed_rows = nullptr;
    if (const auto product = packed_state_product(s, type)) {
      r.packed = arena.allocate<std::byte>(product->packed_bytes());
      r.packed_rows = arena.allocate<std::byte>(static_cast<std::int64_t>(product->scratch()));
    }
    r.w_ih = arena.allocate<T>(s.gates * width);
    r.w_hh = arena.allocate<T>(s.gates * s.projected);
    r.w_hr = arena.allocate<T>(s.projected * s.hidden);
    r.b_ih = arena.allocate<T>(s.gates);
    r.b_hh = arena.allocate<T>(s.gates);
  }
  return b;
}

/// A contiguous weight [rows, columns] in its own type, or converted to the type of the sums.
struct RnnWeight {
  const void* data = nullptr;
  DType type = DType::invalid;

  template <class T>
  const T* data_as() const {
    return static_cast<const T*>(data);
  }
  const void* row(std::int64_t i, std::int64_t columns) const {
    return static_cast<const std::byte*>(data) + i * columns * element_size(type);
  }
};

template <class T>
RnnWeight weight_of(const TensorView& v, bool narrow, T* buffer) {
  const DType type = dtype_of_v<T>;
  if (v.contiguous() && (v.dtype == type || (narrow && is_narrow_float(v.dtype)))) return {v.data, v.dtype};
  to_dense(v, type, buffer);
  return {buffer, type};
}

/// True if the processor multiplies rows of x by this weight of bfloat16 without conversion.
bool multiplies_as_bf16(const TensorView& weight, std::int64_t m) {
  const std::int64_t n = weight.size(0), k = weight.size(1);
  return weight.dtype == DType::bf16 && weight.contiguous() && k > 0 && multiplies_bf16({m, n, k, k, k});
}

void round_rows(const float* x, std::int64_t x_row, std::int64_t m, std::int64_t k, BFloat16* to) {
  for (std::int64_t i = 0; i < m; ++i) convert(x + i * x_row, DType::f32, to + i * k, DType::bf16, k);
}

/// y [m, n] (dense) = x [m, k] (rows `x_row` apart) times the rows `first` .. of `weight` [.., k], plus `bias` [n] or
/// nothing.
void multiply(const float* x, std::int64_t x_row, std::int64_t m, const RnnWeight& weight, std::int64_t first,
              std::int64_t n, std::int64_t k, const float* bias, float* y) {
  linear({m, n, k, x_row, k}, {.x = x, .weight = weight.row(first, k), .bias = bias, .y = y, .type = weight.type});
}
/// The same of a dense x and a weight that multiplies_as_bf16.
void multiply(const BFloat16* x, std::int64_t m, const RnnWeight& weight, std::int64_t first, std::int64_t n,
              std::int64_t k, const float* bias, float* y) {
  linear({m, n, k, k, k}, Bf16Operands{x, static_cast<const BFloat16*>(weight.row(first, k)), bias, y});
}
void multiply(const double* x, std::int64_t x_row, std::int64_t m, const RnnWeight& weight, std::int64_t first,
              std::int64_t n, std::int64_t k, const double* bias, double* y) {
  for (std::int64_t i = 0; bias != nullptr && i < m; ++i) std::copy_n(bias, n, y + i * n);
  gemm<double>(m, n, k, {x, x_row, 1}, {weight.data_as<double>() + first * k, 1, k}, y, n, bias != nullptr);
}

/// Vector loops over contiguous runs.
template <class T>
class GateLoops {
 public:
  void add(T* to, const T* a, const T* b, std::int64_t n) const { add_(to, a, b, nullptr, n); }
  void sub(T* to, const T* a, const T* b, std::int64_t n) const { sub_(to, a, b, nullptr, n); }
  void mul(T* to, const T* a, const T* b, std::int64_t n) const { mul_(to, a, b, nullptr, n); }
  void sigmoid(T* x, std::int64_t n) const { sigmoid_(x, x, nullptr, nullptr, n); }
  void tanh(T* to, const T* x, std::int64_t n) const { tanh_(to, x, nullptr, nullptr, n); }

 private:
  static pointwise::Loop loop(Scalar op) { return pointwise::loop_table().get(op, dtype_of_v<T>); }
  pointwise::Loop add_ = loop(Scalar::add), sub_ = loop(Scalar::sub), mul_ = loop(Scalar::mul),
                  sigmoid_ = loop(Scalar::sigmoid), tanh_ = loop(Scalar::tanh);
};

/// A step of `n` units of one sample. Gate g of x (biases included) lies at x + g * x_gate, of h at h + g * h_gate.
template <class T>
struct UnitRun {
  const T* x;
  std::int64_t x_gate;
  T* h;  ///< overwritten
  std::int64_t h_gate, n;
  const T* previous;  ///< the state of these units before the step, unless LSTM
  T* cell;            ///< LSTM: the cell state of these units
  T* out;
};

template <class T>
void apply_gates(RnnKind kind, const GateLoops<T>& loops, const UnitRun<T>& r) {
  const std::int64_t n = r.n;
  const auto sum = [&](std::int64_t g) { loops.add(r.h + g * r.h_gate, r.h + g * r.h_gate, r.x + g * r.x_gate, n); };
  switch (kind) {
    case RnnKind::lstm: {
      T *in = r.h, *forget = r.h + r.h_gate, *fresh = r.h + 2 * r.h_gate, *shown = r.h + 3 * r.h_gate;
      if (r.x_gate == n && r.h_gate == n) {
        loops.add(r.h, r.h, r.x, 4 * n);
        loops.sigmoid(in, 2 * n);
      } else {
        for (std::int64_t g = 0; g < 4; ++g) sum(g);
        loops.sigmoid(in, n);
        loops.sigmoid(forget, n);
      }
      loops.tanh(fresh, fresh, n);
      loops.sigmoid(shown, n);
      loops.mul(r.cell, r.cell, forget, n);
      loops.mul(in, in, fresh, n);
      loops.add(r.cell, r.cell, in, n);
      loops.tanh(fresh, r.cell, n);
      return loops.mul(r.out, shown, fresh, n);
    }
    case RnnKind::gru: {
      T *reset = r.h, *update = r.h + r.h_gate, *fresh = r.h + 2 * r.h_gate;
      sum(0);
      sum(1);
      loops.sigmoid(reset, n);
      loops.sigmoid(update, n);
      loops.mul(fresh, fresh, reset, n);
      sum(2);
      loops.tanh(fresh, fresh, n);
      loops.sub(reset, r.previous, fresh, n);
      loops.mul(reset, reset, update, n);
      return loops.add(r.out, reset, fresh, n);
    }
    case RnnKind::tanh: sum(0); return loops.tanh(r.out, r.h, n);
    case RnnKind::relu:
      for (std::int64_t j = 0; j < n; ++j) {
        const T v = r.x[j] + r.h[j];
        r.out[j] = v < T(0) ? T(0) : v;
      }
  }
}

/// A layer in one direction: layer_in [steps, batch, width] to its columns of layer_out.
template <class T>
class RnnCell {
 public:
  RnnCell(const KernelCall& c, const Sizes& s, const RnnBuffers<T>& b, std::int64_t layer, std::int64_t direction,
          std::int64_t width)
      : c_(c),
        s_(s),
        b_(b.direction[direction]),
        in_(b.layer_in),
        narrow_in_(b.narrow_in),
        out_(b.layer_out + direction * s.projected),
        out_row_(s.directions * s.projected),
        cell_(layer * s.directions + direction),
        width_(width),
        backwards_(direction != 0) {}

  void run() {
    constexpr bool kNarrow = std::is_same_v<T, float>;
    const auto first = static_cast<std::size_t>(3 + 5 * cell_);
    const bool biases = c_.has_input(first + 2), lstm = s_.kind == RnnKind::lstm;
    const DType type = dtype_of_v<T>;
    w_hh_ = weight_of(c_.in[first + 1], kNarrow, b_.w_hh);
    if (c_.has_input(first + 4)) w_hr_ = weight_of(c_.in[first + 4], kNarrow, b_.w_hr);
    if (biases) {
      to_dense(c_.in[first + 2], type, b_.b_ih);
      to_dense(c_.in[first + 3], type, b_.b_hh);
      b_hh_ = b_.b_hh;
      // The reset gate of GRU scales the state's bias alone; elsewhere one bias is the sum of both.
      if (s_.kind != RnnKind::gru) loops_.add(b_.b_hh, b_.b_hh, b_.b_ih, s_.gates);
    }
    to_dense(state(c_.in[1], s_.projected), type, b_.h);
    if (lstm) to_dense(state(c_.in[2], s_.hidden), type, b_.c);
    if constexpr (kNarrow) {
      rounds_state_ = is_bf16() && multiplies_as_bf16(c_.in[first + 1], s_.batch);
      if (rounds_state_) state_product_ = packed_state_product(s_, DType::bf16);
      if (state_product_) state_product_->pack(tiles::Elements::from_tensor(c_.in[first + 1]), b_.packed);
    }
    multiply_inputs(c_.in[first], biases && s_.kind == RnnKind::gru);
    const T* h = b_.h;
    std::int64_t h_row = s_.projected;
    for (std::int64_t i = 0; i < s_.steps; ++i) {
      const std::int64_t step = backwards_ ? s_.steps - 1 - i : i;
      T* out = out_ + step * s_.batch * out_row_;
      run_step(step, h, h_row, out);
      h = out;
      h_row = out_row_;
    }
    store_state(1, s_.projected, h, h_row);
    if (lstm) store_state(2, s_.hidden, b_.c, s_.hidden);
  }

 private:
  bool is_bf16() const { return c_.in[0].dtype == DType::bf16; }
  TensorView state(TensorView v, std::int64_t features) const {
    v.rank = 2;
    v.sizes[0] = s_.batch;
    v.sizes[1] = features;
    v.data += cell_ * s_.batch * features * element_size(v.dtype);
    make_contiguous(v);
    return v;
  }
  void multiply_inputs(const TensorView& w_ih, bool biases) {
    const std::int64_t rows = s_.steps * s_.batch;
    if constexpr (std::is_same_v<T, float>) {
      if (is_bf16() && multiplies_as_bf16(w_ih, rows))
        return multiply(narrow_in_, rows, {w_ih.data, DType::bf16}, 0, s_.gates, width_, biases ? b_.b_ih : nullptr,
                        b_.from_input);
    }
    const RnnWeight weight = weight_of(w_ih, false, b_.w_ih);
    for (std::int64_t r = 0; biases && r < rows; ++r) std::copy_n(b_.b_ih, s_.gates, b_.from_input + r * s_.gates);
    gemm<T>(rows, s_.gates, width_, {in_, width_, 1}, {weight.data_as<T>(), 1, width_}, b_.from_input, s_.gates,
            biases);
  }

  /// Writes the state after the step to `out`, rows out_row_ apart.
  void run_step(std::int64_t step, const T* h, std::int64_t h_row, T* out) {
    constexpr std::int64_t kThreadProducts = std::int64_t{1} << 17, kUnits = 16;
    const std::int64_t products = s_.batch * s_.gates * s_.projected;
    const std::int64_t groups = (s_.hidden + kUnits - 1) / kUnits;
    const std::int64_t threads = std::max<std::int64_t>(1, products / kThreadProducts);
    if constexpr (std::is_same_v<T, float>) {
      if (rounds_state_) round_rows(h, h_row, s_.batch, s_.projected, b_.narrow_h);
    }
    const bool product_is_done = state_product_ && multiply_packed();
    T* shown = w_hr_.data != nullptr ? b_.cell_out : out;
    const std::int64_t shown_row = w_hr_.data != nullptr ? s_.hidden : out_row_;
    parallel_for(groups, (groups + threads - 1) / threads, [&](std::int64_t begin, std::int64_t end) {
      run_units(step, h, h_row, begin * kUnits, std::min(end * kUnits, s_.hidden), shown, shown_row, product_is_done);
    });
    if (w_hr_.data == nullptr) return;
    // The gates' sums have been read: their buffer takes the dense product.
    T* dense = b_.gate_sums;
    if (s_.hidden == 0) {
      for (std::int64_t n = 0; n < s_.batch; ++n) std::fill_n(out + n * out_row_, s_.projected, T(0));
      return;
    }
    multiply(b_.cell_out, s_.hidden, s_.batch, w_hr_, 0, s_.projected, s_.hidden, nullptr, dense);
    for (std::int64_t n = 0; n < s_.batch; ++n) std::copy_n(dense + n * s_.projected, s_.projected, out + n * out_row_);
  }
  void run_units(std::int64_t step, const T* h, std::int64_t h_row, std::int64_t begin, std::int64_t end, T* shown,
                 std::int64_t shown_row, bool product_is_done) {
    const std::int64_t n = end - begin, gates = s_.gates / s_.hidden;
    const bool all = product_is_done || n == s_.hidden;
    T* sums = b_.gate_sums + begin * (product_is_done ? 1 : gates * s_.batch);
    if (all && !product_is_done) {
      multiply_state(h, h_row, 0, s_.gates, sums);
    } else if (!product_is_done) {
      for (std::int64_t g = 0; g < gates; ++g) {
        const std::int64_t first = g * s_.hidden + begin;
        multiply_state(h, h_row, first, n, sums + g * s_.batch * n);
      }
    }
    for (std::int64_t i = 0; i < s_.batch; ++i) {
      apply_gates<T>(s_.kind, loops_,
                     {.x = b_.from_input + (step * s_.batch + i) * s_.gates + begin,
                      .x_gate = s_.hidden,
                      .h = sums + i * (all ? s_.gates : n),
                      .h_gate = all ? s_.hidden : s_.batch * n,
                      .n = n,
                      .previous = h + i * h_row + begin,
                      .cell = b_.c + i * s_.hidden + begin,
                      .out = shown + i * shown_row + begin});
    }
  }

  /// Makes the sums [batch, gates] of all units. False where one is not finite.
  bool multiply_packed() {
    return state_product_->run({.x = {reinterpret_cast<const std::byte*>(b_.narrow_h), true},
                                .weight = b_.packed,
                                .bias = reinterpret_cast<const float*>(b_hh_),
                                .y = reinterpret_cast<std::byte*>(b_.gate_sums)},
                               b_.packed_rows);
  }
  /// sums [batch, n]: the state times rows first .. of w_hh.
  void multiply_state(const T* h, std::int64_t h_row, std::int64_t first, std::int64_t n, T* sums) {
    const T* bias = b_hh_ == nullptr ? nullptr : b_hh_ + first;
    if constexpr (std::is_same_v<T, float>) {
      if (rounds_state_) return multiply(b_.narrow_h, s_.batch, w_hh_, first, n, s_.projected, bias, sums);
    }
    multiply(h, h_row, s_.batch, w_hh_, first, n, s_.projected, bias, sums);
  }

  void store_state(std::size_t output, std::int64_t features, const T* from, std::int64_t row) {
    if (!c_.wants_output(output) || c_.out[output].data == nullptr) return;
    T* dense = output == 1 ? b_.h : b_.c;
    for (std::int64_t n = 0; from != dense && n < s_.batch; ++n)
      std::copy_n(from + n * row, features, dense + n * features);
    from_dense(dense, dtype_of_v<T>, state(c_.out[output], features));
  }

  const KernelCall& c_;
  const Sizes& s_;
  const DirectionBuffers<T>& b_;
  const T* in_;
  const BFloat16* narrow_in_;
  T* out_;
  std::int64_t out_row_, cell_, width_;
  bool backwards_, rounds_state_ = false;
  GateLoops<T> loops_;
  RnnWeight w_hh_, w_hr_;
  std::optional<tiles::RowLinear> state_product_;
  const T* b_hh_ = nullptr;
};

template <class T>
void run_layers(KernelCall& c, const Sizes& s, std::byte* scratch_rnn) {
  ScratchArena arena(scratch_rnn);
  RnnBuffers<T> b = buffers<T>(s, c.in[0].dtype, arena);
  to_dense(c.in[0], dtype_of_v<T>, b.layer_in);
  std::int64_t width = s.input;
  for (std::int64_t layer = 0; layer < s.layers; ++layer) {
    if constexpr (std::is_same_v<T, float>) {
      if (c.in[0].dtype == DType::bf16)
        convert(b.layer_in, DType::f32, b.narrow_in, DType::bf16, s.steps * s.batch * width);
    }
    const auto run = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t d = begin; d < end; ++d) RnnCell<T>(c, s, b, layer, d, width).run();
    };
    // Each direction has a thread of its own, or all threads share each step.
    if (Threads::current().count() <= s.directions) {
      parallel_for(s.directions, 1, run);
    } else {
      run(0, s.directions);
    }
    width = s.directions * s.projected;
    std::swap(b.layer_in, b.layer_out);
  }
  if (c.wants_output(0)) from_dense(b.layer_in, dtype_of_v<T>, c.out[0]);
}

std::size_t scratch_rnn(const KernelCall& c) {
  ScratchArena arena;
  const Sizes s = sizes_of(c);
  if (c.in[0].dtype == DType::f64) {
    buffers<double>(s, c.in[0].dtype, arena);
  } else {
    buffers<float>(s, c.in[0].dtype, arena);
  }
  return arena.used();
}

void run_rnn(KernelCall& c) {
  const Sizes s = sizes_of(c);
  if (s.steps == 0) fail(ErrorCode::runtime, "a recurrent network needs at least one step");
  if (s.projected == 0 && s.hidden > 0)
    fail(ErrorCode::runtime, "a recurrent network projects its state to no features");
  if (s.batch * s.projected == 0) return;
  Scratch own(c, scratch_rnn(c));
  if (c.in[0].dtype == DType::f64) return run_layers<double>(c, s, own.data());
  run_layers<float>(c, s, own.data());
}

}  // namespace

Kernel rnn_kernel() {
  return {.run = run_rnn, .scratch = scratch_rnn, .strided = kAllStrided & ~0b110U};
}

}  // namespace tern::cpu
