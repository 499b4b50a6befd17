// Recurrent layers against the formulas of PyTorch's documentation, in double.
#include <gtest/gtest.h>

#include <cmath>

#include "schema/window_kinds.h"
#include "tests/kernels/node_run.h"
#include "threads/threads.h"

namespace tern::test {
namespace {

using Vec = std::vector<double>;

struct Cell {
  Vec w_ih, w_hh, b_ih, b_hh, w_hr;
};

Vec multiply(const Vec& w, const Vec& x) {
  Vec y(w.size() / x.size(), 0.0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    for (std::size_t j = 0; j < x.size(); ++j) y[i] += w[i * x.size() + j] * x[j];
  }
  return y;
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

void step(RnnKind kind, const Cell& cell, const Vec& x, Vec& h, Vec& c) {
  Vec a = multiply(cell.w_ih, x), b = multiply(cell.w_hh, h);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] += cell.b_ih.empty() ? 0 : cell.b_ih[i];
    b[i] += cell.b_hh.empty() ? 0 : cell.b_hh[i];
  }
  const std::size_t n = kind == RnnKind::lstm ? c.size() : h.size();
  Vec out(n);
  for (std::size_t j = 0; j < n; ++j) {
    if (kind == RnnKind::lstm) {
      c[j] = sigmoid(a[n + j] + b[n + j]) * c[j] + sigmoid(a[j] + b[j]) * std::tanh(a[2 * n + j] + b[2 * n + j]);
      out[j] = sigmoid(a[3 * n + j] + b[3 * n + j]) * std::tanh(c[j]);
    } else if (kind == RnnKind::gru) {
      const double r = sigmoid(a[j] + b[j]), z = sigmoid(a[n + j] + b[n + j]);
      out[j] = (1 - z) * std::tanh(a[2 * n + j] + r * b[2 * n + j]) + z * h[j];
    } else {
      out[j] = kind == RnnKind::tanh ? std::tanh(a[j] + b[j]) : std::max(0.0, a[j] + b[j]);
    }
  }
  h = cell.w_hr.empty() ? out : multiply(cell.w_hr, out);
}

struct RnnCase {
  RnnKind kind;
  std::int64_t layers, steps, batch, input, hidden, projected;
  bool bidirectional, biases;
};

void check(const RnnCase& c, DType t, double tolerance) {
  const std::int64_t directions = c.bidirectional ? 2 : 1, gates = (c.kind == RnnKind::lstm  ? 4
                                                                    : c.kind == RnnKind::gru ? 3
                                                                                             : 1) *
                                                                   c.hidden;
  const bool projects = c.projected != c.hidden;
  std::uint32_t seed = 1;
  const auto draw = [&](std::int64_t n) { return random_numbers(n, seed++, 1, 8); };
  const Vec x = draw(c.steps * c.batch * c.input), h0 = draw(c.layers * directions * c.batch * c.projected),
            c0 = draw(c.layers * directions * c.batch * c.hidden);
  NodeRun run(Op::rnn);
  run.input(t, {c.steps, c.batch, c.input}, x);
  run.input(t, {c.layers * directions, c.batch, c.projected}, h0);
  if (c.kind == RnnKind::lstm) {
    run.input(t, {c.layers * directions, c.batch, c.hidden}, c0);
  } else {
    run.no_input();
  }
  std::vector<Cell> cells;
  for (std::int64_t l = 0; l < c.layers * directions; ++l) {
    const std::int64_t width = l < directions ? c.input : directions * c.projected;
    Cell cell{draw(gates * width), draw(gates * c.projected), {}, {}, {}};
    run.input(t, {gates, width}, cell.w_ih);
    run.input(t, {gates, c.projected}, cell.w_hh);
    if (c.biases) {
      cell.b_ih = draw(gates);
      cell.b_hh = draw(gates);
      run.input(t, {gates}, cell.b_ih);
      run.input(t, {gates}, cell.b_hh);
    } else {
      run.no_input();
      run.no_input();
    }
    if (projects) {
      cell.w_hr = draw(c.projected * c.hidden);
      run.input(t, {c.projected, c.hidden}, cell.w_hr);
    } else {
      run.no_input();
    }
    cells.push_back(cell);
  }
  run.set(AttrKey::kind, static_cast<std::int64_t>(c.kind));
  run.set(AttrKey::layers, c.layers);
  run.set(AttrKey::bidirectional, directions - 1);
  run.run();
  const auto y = run.output(0), h_n = run.output(1);
  for (std::int64_t b = 0; b < c.batch; ++b) {
    std::vector<Vec> sequence;
    for (std::int64_t s = 0; s < c.steps; ++s) {
      const auto at = x.begin() + (s * c.batch + b) * c.input;
      sequence.emplace_back(at, at + c.input);
    }
    for (std::int64_t l = 0; l < c.layers; ++l) {
      std::vector<Vec> next(static_cast<std::size_t>(c.steps));
      for (std::int64_t d = 0; d < directions; ++d) {
        const std::int64_t cell = l * directions + d;
        const auto at = [&](const Vec& v, std::int64_t n) {
          return Vec(v.begin() + (cell * c.batch + b) * n, v.begin() + (cell * c.batch + b + 1) * n);
        };
        Vec h = at(h0, c.projected), state = at(c0, c.hidden);
        std::vector<Vec> out(static_cast<std::size_t>(c.steps));
        for (std::int64_t i = 0; i < c.steps; ++i) {
          const auto s = static_cast<std::size_t>(d == 0 ? i : c.steps - 1 - i);
          step(c.kind, cells[static_cast<std::size_t>(cell)], sequence[s], h, state);
          out[s] = h;
        }
        for (std::size_t s = 0; s < next.size(); ++s) next[s].insert(next[s].end(), out[s].begin(), out[s].end());
        for (std::int64_t j = 0; j < c.projected; ++j) {
          ASSERT_NEAR(h_n[static_cast<std::size_t>((cell * c.batch + b) * c.projected + j)].real(),
                      h[static_cast<std::size_t>(j)], tolerance);
        }
        if (c.kind != RnnKind::lstm) continue;
        const auto c_n = run.output(2);
        for (std::int64_t j = 0; j < c.hidden; ++j) {
          ASSERT_NEAR(c_n[static_cast<std::size_t>((cell * c.batch + b) * c.hidden + j)].real(),
                      state[static_cast<std::size_t>(j)], tolerance);
        }
      }
      sequence = next;
    }
    const std::int64_t width = directions * c.projected;
    for (std::int64_t s = 0; s < c.steps; ++s) {
      for (std::int64_t j = 0; j < width; ++j) {
        ASSERT_NEAR(y[static_cast<std::size_t>((s * c.batch + b) * width + j)].real(),
                    sequence[static_cast<std::size_t>(s)][static_cast<std::size_t>(j)], tolerance);
      }
    }
  }
}

TEST(Rnn, FollowsTheFormulas) {
  const RnnCase cases[] = {
      {RnnKind::lstm, 1, 4, 2, 3, 5, 5, false, true}, {RnnKind::lstm, 2, 3, 2, 3, 4, 4, true, true},
      {RnnKind::lstm, 2, 3, 1, 3, 4, 2, true, false}, {RnnKind::gru, 1, 4, 3, 2, 3, 3, false, true},
      {RnnKind::gru, 2, 3, 2, 3, 4, 4, true, false},  {RnnKind::tanh, 2, 3, 2, 3, 4, 4, true, true},
      {RnnKind::relu, 1, 5, 2, 3, 4, 4, false, true},
  };
  for (const RnnCase& c : cases) {
    check(c, DType::f64, 1e-13);
    check(c, DType::f32, 2e-6);
    check(c, DType::bf16, 3e-2);
  }
}

TEST(Rnn, ThreadsShareTheUnitsOfAStepOrTakeADirectionEach) {
  const RnnCase cases[] = {
      {RnnKind::lstm, 2, 3, 4, 40, 260, 260, false, true}, {RnnKind::lstm, 1, 3, 5, 70, 270, 190, false, false},
      {RnnKind::lstm, 1, 3, 2, 30, 250, 250, true, true},  {RnnKind::gru, 1, 3, 7, 33, 275, 275, false, true},
      {RnnKind::gru, 2, 2, 3, 20, 290, 290, true, false},  {RnnKind::tanh, 1, 3, 9, 25, 300, 300, false, true},
  };
  for (const int count : {2, 5}) {
    const ThreadScope scope{Threads(count)};
    for (const RnnCase& c : cases) {
      check(c, DType::f32, 2e-4);
      check(c, DType::f64, 1e-11);
    }
  }
}

}  // namespace
}  // namespace tern::test
