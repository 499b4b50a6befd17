// rnn: multiplies the inputs of all steps at once, then step by step multiplies the state and applies the gates.
#include <tern/error.h>

#include <cmath>
#include <cstring>

#include "dtypes/storage.h"
#include "kernels/cpu/contractions.h"
#include "kernels/cpu/dense.h"
#include "kernels/cpu/products/gemm.h"
#include "kernels/cpu/scratch.h"
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

/// Buffers in the type of the sums.
template <class T>
struct Buffers {
  T *layer_in, *layer_out;  ///< [steps, batch, features]
  T* from_input;            ///< [steps, batch, gates]
  T* from_state;            ///< [batch, gates]
  T *h, *c, *cell_out;      ///< [batch, projected], [batch, hidden] twice
  T *w_ih, *w_hh, *w_hr, *b_ih, *b_hh;
};

template <class T>
Buffers<T> buffers(const Sizes& s, ScratchParts& parts) {
  const std::int64_t width = std::max(s.input, s.directions * s.projected), rows = s.steps * s.batch;
  Buffers<T> b{};
  b.layer_in = parts.take<T>(rows * width);
  b.layer_out = parts.take<T>(rows * width);
  b.from_input = parts.take<T>(rows * s.gates);
  b.from_state = parts.take<T>(s.batch * s.gates);
  b.h = parts.take<T>(s.batch * s.projected);
  b.c = parts.take<T>(s.batch * s.hidden);
  b.cell_out = parts.take<T>(s.batch * s.hidden);
  b.w_ih = parts.take<T>(s.gates * width);
  b.w_hh = parts.take<T>(s.gates * s.projected);
  b.w_hr = parts.take<T>(s.projected * s.hidden);
  b.b_ih = parts.take<T>(s.gates);
  b.b_hh = parts.take<T>(s.gates);
  return b;
}

template <class T>
T sigmoid(T x) {
  return T(1) / (T(1) + std::exp(-x));
}

/// Computes a step of a sample: `x` and `h` hold the input's and the state's contributions to the gates, biases
/// included; `state` is an LSTM's cell state, else the state. Writes the new output to `out`.
template <class T>
void gates(const Sizes& s, const T* x, const T* h, T* state, T* out) {
  const std::int64_t n = s.hidden;
  for (std::int64_t j = 0; j < n; ++j) {
    switch (s.kind) {
      case RnnKind::lstm: {
        const T i = sigmoid(x[j] + h[j]), f = sigmoid(x[n + j] + h[n + j]), g = std::tanh(x[2 * n + j] + h[2 * n + j]);
        state[j] = f * state[j] + i * g;
        out[j] = sigmoid(x[3 * n + j] + h[3 * n + j]) * std::tanh(state[j]);
        break;
      }
      case RnnKind::gru: {
        const T r = sigmoid(x[j] + h[j]), z = sigmoid(x[n + j] + h[n + j]),
                fresh = std::tanh(x[2 * n + j] + r * h[2 * n + j]);
        out[j] = (state[j] - fresh) * z + fresh;
        break;
      }
      case RnnKind::tanh: out[j] = std::tanh(x[j] + h[j]); break;
      case RnnKind::relu: {
        const T v = x[j] + h[j];
        out[j] = v < T(0) ? T(0) : v;
        break;
      }
    }
  }
}

template <class T>
void add_rows(T* to, std::int64_t rows, std::int64_t width, const T* bias) {
  for (std::int64_t r = 0; r < rows; ++r)
    std::memcpy(to + r * width, bias, static_cast<std::size_t>(width) * sizeof(T));
}

/// Runs a layer in one direction: layer_in [steps, batch, width] to columns `at`.. of layer_out.
template <class T>
void run_cell(const KernelCall& c, const Sizes& s, const Buffers<T>& b, std::int64_t cell, std::int64_t width) {
  const DType type = dtype_of_v<T>;
  const auto first = static_cast<std::size_t>(3 + 5 * cell);
  const bool biases = c.has(first + 2), projections = c.has(first + 4), lstm = s.kind == RnnKind::lstm;
  to_dense(c.in[first], type, b.w_ih);
  to_dense(c.in[first + 1], type, b.w_hh);
  if (biases) {
    to_dense(c.in[first + 2], type, b.b_ih);
    to_dense(c.in[first + 3], type, b.b_hh);
  }
  if (projections) to_dense(c.in[first + 4], type, b.w_hr);
  const auto state = [&](std::size_t input, std::int64_t features, T* to) {
    TensorView v = c.in[input];
    v.rank = 2;
    v.sizes[0] = s.batch;
    v.sizes[1] = features;
    v.data += cell * s.batch * features * element_size(v.dtype);
    make_contiguous(v);
    to_dense(v, type, to);
  };
  state(1, s.projected, b.h);
  if (lstm) state(2, s.hidden, b.c);
  const std::int64_t rows = s.steps * s.batch, out_width = s.directions * s.projected, direction = cell % s.directions;
  if (biases) add_rows(b.from_input, rows, s.gates, b.b_ih);
  gemm<T>(rows, s.gates, width, {b.layer_in, width, 1}, {b.w_ih, 1, width}, b.from_input, s.gates, biases);
  for (std::int64_t i = 0; i < s.steps; ++i) {
    const std::int64_t step = direction == 0 ? i : s.steps - 1 - i;
    if (biases) add_rows(b.from_state, s.batch, s.gates, b.b_hh);
    gemm<T>(s.batch, s.gates, s.projected, {b.h, s.projected, 1}, {b.w_hh, 1, s.projected}, b.from_state, s.gates,
            biases);
    T* fresh = projections ? b.cell_out : b.h;
    parallel_for(s.batch, grain_for(s.gates * 8), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) {
        gates<T>(s, b.from_input + (step * s.batch + n) * s.gates, b.from_state + n * s.gates,
                 lstm ? b.c + n * s.hidden : b.h + n * s.hidden, fresh + n * s.hidden);
      }
    });
    if (projections)
      gemm<T>(s.batch, s.projected, s.hidden, {b.cell_out, s.hidden, 1}, {b.w_hr, 1, s.hidden}, b.h, s.projected,
              false);
    for (std::int64_t n = 0; n < s.batch; ++n) {
      std::memcpy(b.layer_out + (step * s.batch + n) * out_width + direction * s.projected, b.h + n * s.projected,
                  static_cast<std::size_t>(s.projected) * sizeof(T));
    }
  }
  const auto give = [&](std::size_t output, std::int64_t features, const T* from) {
    if (!c.wants(output) || c.out[output].data == nullptr) return;
    TensorView v = c.out[output];
    v.rank = 2;
    v.sizes[0] = s.batch;
    v.sizes[1] = features;
    v.data += cell * s.batch * features * element_size(v.dtype);
    make_contiguous(v);
    from_dense(from, type, v);
  };
  give(1, s.projected, b.h);
  if (lstm) give(2, s.hidden, b.c);
}

template <class T>
void run_layers(KernelCall& c, const Sizes& s, std::byte* scratch) {
  ScratchParts parts(scratch);
  Buffers<T> b = buffers<T>(s, parts);
  to_dense(c.in[0], dtype_of_v<T>, b.layer_in);
  std::int64_t width = s.input;
  for (std::int64_t layer = 0; layer < s.layers; ++layer) {
    for (std::int64_t d = 0; d < s.directions; ++d) run_cell<T>(c, s, b, layer * s.directions + d, width);
    width = s.directions * s.projected;
    std::swap(b.layer_in, b.layer_out);
  }
  if (c.wants(0)) from_dense(b.layer_in, dtype_of_v<T>, c.out[0]);
}

std::size_t scratch(const KernelCall& c) {
  ScratchParts parts;
  const Sizes s = sizes_of(c);
  if (c.in[0].dtype == DType::f64) {
    buffers<double>(s, parts);
  } else {
    buffers<float>(s, parts);
  }
  return parts.used();
}

void run(KernelCall& c) {
  const Sizes s = sizes_of(c);
  if (s.steps == 0) fail(ErrorCode::runtime, "a recurrent network needs at least one step");
  if (s.projected == 0 && s.hidden > 0)
    fail(ErrorCode::runtime, "a recurrent network projects its state to no features");
  if (s.batch * s.projected == 0) return;
  Scratch own(c, scratch(c));
  if (c.in[0].dtype == DType::f64) return run_layers<double>(c, s, own.data());
  run_layers<float>(c, s, own.data());
}

}  // namespace

Kernel rnn_kernel() {
  return {.run = run, .scratch = scratch, .strided = kAllStrided & ~0b110U};
}

}  // namespace tern::cpu
