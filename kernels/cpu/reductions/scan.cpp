// scan: sums, products, extrema and logarithms of sums along an axis. Lines side by side in memory advance together;
// lines along the last axis advance several at a time, and a few long lines are cut into pieces whose starts follow
// from the totals of the pieces before.
#include <cmath>
#include <limits>
#include <optional>

#include "dtypes/levels.h"
#include "kernels/cpu/accumulate.h"
#include "kernels/cpu/pointwise/loops.h"
#include "kernels/cpu/reductions/reductions.h"
#include "kernels/cpu/reductions/row_loops.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/strided.h"
#include "schema/kinds.h"
#include "threads/parallel.h"

namespace tern {
namespace {

// A scan has a State; start(); step(state, element, position); a later piece's state joined to an earlier one; and
// stores of a state's results.

template <class L, bool kProduct>
struct ArithmeticScan {
  using Element = L;
  using State = wide_t<L>;
  using Result = L;
  static constexpr bool kHasIndices = false;

  /// The neutral value: -0 keeps the sign of a first zero.
  static State start() {
    if constexpr (kProduct) return State(1);
    if constexpr (is_std_complex_v<State>) return State(-0.0, -0.0);
    return State(-0.0);
  }
  [[gnu::always_inline]] static void step(State& s, L x, std::int64_t) { s = joined(s, static_cast<State>(x)); }
  static void join(State& s, const State& later) { s = joined(s, later); }
  [[gnu::always_inline]] static Result value(const State& s) { return static_cast<L>(s); }
  [[gnu::always_inline]] static std::int64_t index_of(const State&) { return 0; }

 private:
  [[gnu::always_inline]] static State joined(const State& a, const State& b) {
    if constexpr (kProduct) {
      return times(a, b);
    } else {
      return a + b;
    }
  }
};

/// The later of equal extrema wins, and NaN beats numbers.
template <class L, bool kMax>
struct ExtremumScan {
  using Element = L;
  struct State {
    L extremum;
    std::int64_t index;
  };
  using Result = L;
  static constexpr bool kHasIndices = true;

  static State start() {
    using N = std::numeric_limits<L>;
    if constexpr (N::has_infinity) return {kMax ? -N::infinity() : N::infinity(), 0};
    return {kMax ? N::lowest() : N::max(), 0};
  }
  [[gnu::always_inline]] static void step(State& s, L x, std::int64_t at) {
    const bool reaches =
        (static_cast<int>(kMax ? x >= s.extremum : x <= s.extremum) | static_cast<int>(is_nan(x))) != 0;
    s.extremum = reaches ? x : s.extremum;
    s.index = reaches ? at : s.index;
  }
  static void join(State& s, const State& later) { step(s, later.extremum, later.index); }
  [[gnu::always_inline]] static Result value(const State& s) { return s.extremum; }
  [[gnu::always_inline]] static std::int64_t index_of(const State& s) { return s.index; }
};

/// The lines of the operand and of the results, which are contiguous.
struct ScanLines {
  const TensorView& x;
  TensorView y, indices;
  int axis;
  std::int64_t n, x_step, y_step, x_size, y_size;
  CollapsedAxes outer, inner;  ///< axes of x before and after the scanned one

  explicit ScanLines(const KernelCall& c)
      : x(c.in[0]),
        y(c.out[0]),
        indices(c.wants_output(1) ? c.out[1] : TensorView{}),
        axis(x.rank == 0 ? 0 : axis_of(*c.node, x.rank)),
        n(x.rank == 0 ? 1 : x.size(axis)),
        x_step(x.rank == 0 ? 1 : x.stride(axis)),
        y_step(1),
        x_size(element_size(x.dtype)),
        y_size(y.dtype == DType::invalid ? 0 : element_size(y.dtype)) {
    for (int i = 0; i < axis; ++i) outer.add(x.size(i), x.stride(i));
    for (int i = axis + 1; i < x.rank; ++i) {
      inner.add(x.size(i), x.stride(i));
      y_step *= x.size(i);
    }
  }
};

/// Scans lines along the last axis of the results.
template <class S>
class RowScan {
  using L = typename S::Element;
  using State = typename S::State;
  static constexpr int kTogether = 4;
  static constexpr std::int64_t kPieces = kTogether, kLongPiece = 1024, kShort = 64;

  /// Elements [begin, end) of a line.
  struct Piece {
    std::int64_t line, begin, end;
    State state;
  };

 public:
  explicit RowScan(const ScanLines& lines) : l_(lines) {}

  void run() const {
    const std::int64_t count = l_.outer.count;
    if (count < kTogether && l_.n >= kPieces * kLongPiece) {
      for (std::int64_t line = 0; line < count; ++line) scan_pieces(line);
      return;
    }
    if (l_.n <= kShort && l_.x_step == 1 && l_.outer.rank == 1 && l_.outer.inner_stride() == l_.n)
      return scan_short_lines();
    const std::int64_t groups = (count + kTogether - 1) / kTogether;
    parallel_for(groups, grain_for(4 * l_.n * kTogether), [&](std::int64_t begin, std::int64_t end) {
      Buffers buffers(l_);
      for (std::int64_t g = begin; g < end; ++g) {
        Piece pieces[kTogether];
        const auto m = static_cast<int>(std::min<std::int64_t>(kTogether, count - g * kTogether));
        for (int k = 0; k < m; ++k) pieces[k] = {g * kTogether + k, 0, l_.n, S::start()};
        advance<true>(pieces, m, buffers);
      }
    });
  }

 private:
  struct Buffers {
    explicit Buffers(const ScanLines& l)
        : readers{RunReader<L>(l.x.dtype), RunReader<L>(l.x.dtype), RunReader<L>(l.x.dtype), RunReader<L>(l.x.dtype)} {}
    RunReader<L> readers[kTogether];
    L values[kTogether][kRun];
    std::int64_t indices[kTogether][kRun];
  };

  /// Scans lines that follow each other: a run of elements has several.
  void scan_short_lines() const {
    const std::int64_t n = l_.n, count = l_.outer.count, of_a_run = kRun / n, runs = (count + of_a_run - 1) / of_a_run;
    parallel_for(runs, grain_for(4 * n * of_a_run), [&](std::int64_t begin, std::int64_t end) {
      RunReader<L> reader(l_.x.dtype);
      L values[kRun];
      std::int64_t indices[kRun];
      for (std::int64_t run = begin; run < end; ++run) {
        const std::int64_t first = run * of_a_run, lines = std::min(of_a_run, count - first);
        const L* x = reader.read(l_.x.data + first * n * l_.x_size, 1, lines * n);
        L* y = results(first * n, values);
        std::int64_t line = 0;
        for (; line + kTogether <= lines; line += kTogether)
          scan_side_by_side<kTogether>(x + line * n, y + line * n, indices + line * n);
        for (; line < lines; ++line) scan_side_by_side<1>(x + line * n, y + line * n, indices + line * n);
        store(first * n, y, indices, lines * n);
      }
    });
  }

  /// Scans kLines lines, whose chains of operations overlap.
  template <int kLines>
  void scan_side_by_side(const L* x, L* y, std::int64_t* indices) const {
    const std::int64_t n = l_.n;
    State states[kLines];
    for (State& s : states) s = S::start();
    for (std::int64_t i = 0; i < n; ++i) {
#pragma GCC unroll 4
      for (int k = 0; k < kLines; ++k) {
        S::step(states[k], x[k * n + i], i);
        y[k * n + i] = S::value(states[k]);
        if constexpr (S::kHasIndices) indices[k * n + i] = S::index_of(states[k]);
      }
    }
  }

  void scan_pieces(std::int64_t line) const {
    Piece pieces[kPieces];
    for (std::int64_t k = 0; k < kPieces; ++k)
      pieces[k] = {line, l_.n * k / kPieces, l_.n * (k + 1) / kPieces, S::start()};
    Buffers buffers(l_);
    advance<false>(pieces, kPieces, buffers);
    State before = S::start();
    for (Piece& p : pieces) {
      const State total = p.state;
      p.state = before;
      S::join(before, total);
    }
    advance<true>(pieces, kPieces, buffers);
  }

  /// Advances the states over their pieces, and stores the results.
  template <bool kStores>
  void advance(Piece* pieces, int count, Buffers& b) const {
    std::int64_t length = 0;
    for (int k = 0; k < count; ++k) length = std::max(length, pieces[k].end - pieces[k].begin);
    for (std::int64_t done = 0; done < length; done += kRun) {
      const L* from[kTogether];
      std::int64_t m[kTogether], least = kRun;
      for (int k = 0; k < kTogether; ++k) {
        const Piece& p = pieces[k < count ? k : 0];
        m[k] = k < count ? std::clamp<std::int64_t>(p.end - p.begin - done, 0, kRun) : 0;
        const std::byte* at = l_.x.data + (l_.outer.offset(p.line) + (p.begin + done) * l_.x_step) * l_.x_size;
        if (m[k] > 0) from[k] = b.readers[k].read(at, l_.x_step, m[k]);
        least = std::min(least, m[k]);
      }
      const std::int64_t together = count == kTogether ? least : 0;
      L* to[kTogether];
      for (int k = 0; k < count; ++k) to[k] = results(pieces[k].line * l_.n + pieces[k].begin + done, b.values[k]);
      State s[kTogether];
      for (int k = 0; k < count; ++k) s[k] = pieces[k].state;
      for (std::int64_t i = 0; i < together; ++i) {
#pragma GCC unroll 4
        for (int k = 0; k < kTogether; ++k) {
          S::step(s[k], from[k][i], pieces[k].begin + done + i);
          if constexpr (kStores) to[k][i] = S::value(s[k]);
          if constexpr (kStores && S::kHasIndices) b.indices[k][i] = S::index_of(s[k]);
        }
      }
      for (int k = 0; k < count; ++k) {
        for (std::int64_t i = together; i < m[k]; ++i) {
          S::step(s[k], from[k][i], pieces[k].begin + done + i);
          if constexpr (kStores) to[k][i] = S::value(s[k]);
          if constexpr (kStores && S::kHasIndices) b.indices[k][i] = S::index_of(s[k]);
        }
        pieces[k].state = s[k];
        if constexpr (kStores) store(pieces[k].line * l_.n + pieces[k].begin + done, to[k], b.indices[k], m[k]);
      }
    }
  }

  /// Returns the memory of results from element `at` on, or the buffer for results of another type.
  L* results(std::int64_t at, L* buffer) const {
    return l_.y.dtype == dtype_of_v<L> ? l_.y.data_as<L>() + at : buffer;
  }

  void store(std::int64_t at, const L* values, const std::int64_t* indices, std::int64_t count) const {
    if (count == 0) return;
    if (l_.y_size != 0 && l_.y.dtype != dtype_of_v<L>)
      convert(values, dtype_of_v<L>, l_.y.data + at * l_.y_size, l_.y.dtype, count);
    if (S::kHasIndices && l_.indices.data != nullptr)
      std::copy_n(indices, count, l_.indices.data_as<std::int64_t>() + at);
  }

  const ScanLines& l_;
};

/// Scans lines that lie side by side. Few lines without gaps advance by several elements of a run.
template <class S>
void scan_columns(const ScanLines& l) {
  using L = typename S::Element;
  using State = typename S::State;
  const std::int64_t width = l.inner.count, run = l.inner.inner_size(), per_run = (run + kRun - 1) / kRun,
                     tiles = l.outer.count * (width / run) * per_run;
  const bool has_no_gaps = run == width && run <= kRun && l.inner.inner_stride() == 1 && l.x_step == width;
  const std::int64_t most_steps = has_no_gaps ? kRun / width : 1;
  parallel_for(tiles, grain_for(4 * l.n * std::min(run, kRun)), [&](std::int64_t begin, std::int64_t end) {
    RunReader<L> reader(l.x.dtype);
    State states[kRun];
    L values[kRun];
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t first = t % per_run * kRun, m = std::min(kRun, run - first), rest = t / per_run,
                         outer = rest / (width / run), column = rest % (width / run) * run + first;
      const std::byte* from = l.x.data + (l.outer.offset(outer) + l.inner.offset(column)) * l.x_size;
      const std::int64_t to = outer * l.n * width + column;
      std::fill_n(states, m, S::start());
      for (std::int64_t i = 0; i < l.n; i += most_steps) {
        const std::int64_t steps = std::min(most_steps, l.n - i);
        const L* x = reader.read(from + i * l.x_step * l.x_size, l.inner.inner_stride(), m * steps);
        std::int64_t* indices =
            S::kHasIndices && l.indices.data != nullptr ? l.indices.data_as<std::int64_t>() + to + i * width : nullptr;
        visit_cpu_level([&](auto) __attribute__((always_inline)) {
          for (std::int64_t k = 0; k < steps; ++k) {
#pragma omp simd
            for (std::int64_t j = 0; j < m; ++j) {
              S::step(states[j], x[k * m + j], i + k);
              values[k * m + j] = S::value(states[j]);
            }
            if (S::kHasIndices && indices != nullptr) {
#pragma omp simd
              for (std::int64_t j = 0; j < m; ++j) indices[k * m + j] = S::index_of(states[j]);
            }
          }
        });
        if (l.y_size != 0) convert(values, dtype_of_v<L>, l.y.data + (to + i * width) * l.y_size, l.y.dtype, m * steps);
      }
    }
  });
}

template <class S>
void scan_lines(const ScanLines& l) {
  if (l.y_step == 1) return RowScan<S>(l).run();
  scan_columns<S>(l);
}

/// Logarithms of sums of exponentials, for lanes of floats side by side: a lane has the largest element so far, and the
/// sum of exponentials relative to the largest.
class LogSumLanes {
 public:
  static constexpr std::int64_t kLanes = 256;

  void start(std::int64_t lanes) {
    count_ = lanes;
    std::fill_n(top_, lanes, -std::numeric_limits<float>::infinity());
    std::fill_n(sum_, lanes, 0.0);
  }
  void set(std::int64_t lane, float top, double sum) {
    top_[lane] = top;
    sum_[lane] = sum;
  }
  /// Adds an element to each lane, and writes the logarithms.
  void step(const float* x, float* y) {
    static const auto exp = pointwise::loop_table().get(Scalar::exp, DType::f32),
                      log = pointwise::loop_table().get(Scalar::log, DType::f32);
    visit_cpu_level([&](auto) __attribute__((always_inline)) {
#pragma omp simd
      for (std::int64_t j = 0; j < count_; ++j) {
        const float old = top_[j],
                    top = (static_cast<int>(x[j] > old) | static_cast<int>(x[j] != x[j])) != 0 ? x[j] : old,
                    base = __builtin_fabsf(top) == std::numeric_limits<float>::infinity() ? 0.0F : top;
        differences_[j] = old - base;
        differences_[kLanes + j] = x[j] - base;
        top_[j] = top;
      }
    });
    exp(differences_, differences_, nullptr, nullptr, count_);
    exp(differences_ + kLanes, differences_ + kLanes, nullptr, nullptr, count_);
    visit_cpu_level([&](auto) __attribute__((always_inline)) {
#pragma omp simd
      for (std::int64_t j = 0; j < count_; ++j) {
        sum_[j] = sum_[j] * static_cast<double>(differences_[j]) + static_cast<double>(differences_[kLanes + j]);
        logs_[j] = static_cast<float>(sum_[j]);
      }
    });
    log(logs_, logs_, nullptr, nullptr, count_);
    visit_cpu_level([&](auto) __attribute__((always_inline)) {
#pragma omp simd
      for (std::int64_t j = 0; j < count_; ++j) {
        const float sum = top_[j] + logs_[j];
        y[j] = __builtin_fabsf(top_[j]) == std::numeric_limits<float>::infinity() ? top_[j] : sum;
      }
    });
  }

 private:
  std::int64_t count_ = 0;
  alignas(64) float top_[kLanes], differences_[2 * kLanes], logs_[kLanes];
  alignas(64) double sum_[kLanes];
};

class LogSumScan {
 public:
  explicit LogSumScan(const ScanLines& lines) : l_(lines) {}
  void run() const {
    if (l_.y_step != 1) return columns();
    const std::int64_t count = l_.outer.count;
    if (count < kFewLines && l_.n >= kPieces * kLongPiece) {
      for (std::int64_t line = 0; line < count; ++line) pieces(line);
      return;
    }
    const std::int64_t groups = (count + kTogether - 1) / kTogether;
    parallel_for(groups, grain_for(l_.n * kTogether * 16), [&](std::int64_t begin, std::int64_t end) {
      auto* lanes = thread_buffer<LogSumLanes>(1);
      for (std::int64_t g = begin; g < end; ++g) {
        const std::int64_t first = g * kTogether, m = std::min(kTogether, count - first);
        lanes->start(m);
        rows(*lanes, m, l_.n, [&](std::int64_t lane) { return Start{first + lane, 0}; });
      }
    });
  }

 private:
  static constexpr std::int64_t kTogether = 64, kFewLines = 16, kPieces = 64, kLongPiece = 64, kBlock = 64;
  struct Start {
    std::int64_t line, position;
  };

  const std::byte* element(const Start& s) const {
    return l_.x.data + (l_.outer.offset(s.line) + s.position * l_.x_step) * l_.x_size;
  }

  /// Scans `length` elements from each lane's start, in transposed blocks.
  template <class StartOf>
  void rows(LogSumLanes& lanes, std::int64_t m, std::int64_t length, const StartOf& start_of) const {
    RunReader<float> reader(l_.x.dtype);
    auto* block = thread_buffer<float>(static_cast<std::size_t>(kBlock * kTogether), 1);
    float line[kBlock];
    for (std::int64_t first = 0; first < length; first += kBlock) {
      const std::int64_t n = std::min(kBlock, length - first);
      for (std::int64_t lane = 0; lane < m; ++lane) {
        const Start s = start_of(lane);
        const float* x = reader.read(element({s.line, s.position + first}), l_.x_step, n);
        for (std::int64_t i = 0; i < n; ++i) block[i * m + lane] = x[i];
      }
      for (std::int64_t i = 0; i < n; ++i) lanes.step(block + i * m, block + i * m);
      for (std::int64_t lane = 0; lane < m; ++lane) {
        const Start s = start_of(lane);
        for (std::int64_t i = 0; i < n; ++i) line[i] = block[i * m + lane];
        convert(line, DType::f32, l_.y.data + (s.line * l_.n + s.position + first) * l_.y_size, l_.y.dtype, n);
      }
    }
  }

  /// Scans a long line in pieces of equal length, and its end.
  void pieces(std::int64_t line) const {
    const std::int64_t length = l_.n / kPieces, left = l_.n - length * kPieces;
    auto* lanes = thread_buffer<LogSumLanes>(1);
    lanes->start(kPieces);
    const auto& loops = rows::loops<float>();
    RunReader<float> reader(l_.x.dtype);
    float top = -std::numeric_limits<float>::infinity();
    double sum = 0;
    const auto add = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; at += kRun) {
        const std::int64_t n = std::min(kRun, end - at);
        const float* x = reader.read(element({line, at}), l_.x_step, n);
        const float largest = loops.max_or_nan(x, n), next = largest <= top ? top : largest;
        if (std::isinf(next) || std::isnan(next)) {
          top = next;
          continue;
        }
        sum = sum * std::exp(static_cast<double>(top) - static_cast<double>(next)) + loops.sum_exp(x, next, n);
        top = next;
      }
    };
    for (std::int64_t p = 0; p < kPieces; ++p) {
      lanes->set(p, top, sum);
      add(p * length, (p + 1) * length);
    }
    rows(*lanes, kPieces, length, [&](std::int64_t lane) { return Start{line, lane * length}; });
    if (left == 0) return;
    lanes->start(1);
    lanes->set(0, top, sum);
    rows(*lanes, 1, left, [&](std::int64_t) { return Start{line, kPieces * length}; });
  }

  void columns() const {
    const std::int64_t width = l_.inner.count, run = l_.inner.inner_size(), tile = LogSumLanes::kLanes,
                       per_run = (run + tile - 1) / tile, tiles = l_.outer.count * (width / run) * per_run;
    parallel_for(tiles, grain_for(16 * l_.n * std::min(run, tile)), [&](std::int64_t begin, std::int64_t end) {
      RunReader<float> reader(l_.x.dtype);
      auto* lanes = thread_buffer<LogSumLanes>(1);
      float values[LogSumLanes::kLanes];
      for (std::int64_t t = begin; t < end; ++t) {
        const std::int64_t first = t % per_run * tile, m = std::min(tile, run - first), rest = t / per_run,
                           outer = rest / (width / run), column = rest % (width / run) * run + first;
        const std::byte* from = l_.x.data + (l_.outer.offset(outer) + l_.inner.offset(column)) * l_.x_size;
        lanes->start(m);
        for (std::int64_t i = 0; i < l_.n; ++i) {
          lanes->step(reader.read(from + i * l_.x_step * l_.x_size, l_.inner.inner_stride(), m), values);
          convert(values, DType::f32, l_.y.data + (outer * l_.n * width + i * width + column) * l_.y_size, l_.y.dtype,
                  m);
        }
      }
    });
  }

  const ScanLines& l_;
};

}  // namespace

bool cpu_serves_scan(const KernelCall& c) {
  const auto kind = static_cast<ScanKind>(c.node->integer(AttrKey::kind));
  if (kind == ScanKind::cummax || kind == ScanKind::cummin) return true;
  if (kind != ScanKind::logcumsumexp) return true;
  const DType result =
      c.node->has(AttrKey::dtype) ? static_cast<DType>(c.node->integer(AttrKey::dtype)) : c.in[0].dtype;
  return number_type(c.in[0].dtype) == DType::f32 && number_type(result) == DType::f32;
}

void cpu_scan(KernelCall& c) {
  if (c.in[0].numel() == 0) return;
  const auto kind = static_cast<ScanKind>(c.node->integer(AttrKey::kind));
  const ScanLines lines(c);
  switch (kind) {
    case ScanKind::cummax:
    case ScanKind::cummin:
      return visit_real_compute(number_type(c.in[0].dtype), [&]<class L>(std::type_identity<L>) {
        kind == ScanKind::cummax ? scan_lines<ExtremumScan<L, true>>(lines) : scan_lines<ExtremumScan<L, false>>(lines);
      });
    case ScanKind::logcumsumexp: return LogSumScan(lines).run();
    default: break;
  }
  visit_compute(number_type(c.out[0].dtype), [&]<class L>(std::type_identity<L>) {
    kind == ScanKind::cumprod ? scan_lines<ArithmeticScan<L, true>>(lines)
                              : scan_lines<ArithmeticScan<L, false>>(lines);
  });
}

}  // namespace tern
