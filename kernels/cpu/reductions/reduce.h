// Loops of all reductions of elements of a compute type.
#pragma once

#include <algorithm>
#include <optional>

#include "kernels/cpu/reductions/fused_operand.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/strided.h"
#include "kernels/kernel.h"
#include "threads/parallel.h"

namespace tern {

/// The kept and the reduced axes of input 0, and the expression that computes its elements, or null.
struct ReductionAxes {
  CollapsedAxes retained, reduced;
  const FusedOperand* operand = nullptr;
  const KernelCall* operand_call = nullptr;  ///< the expression's operands
};
ReductionAxes reduction_axes(const KernelCall& c);

void reduce_sum(KernelCall& c, const ReductionAxes& axes);       ///< sum, mean
void reduce_prod(KernelCall& c, const ReductionAxes& axes);      ///< prod, bit_xor, any, all
void reduce_extremum(KernelCall& c, const ReductionAxes& axes);  ///< max, min
void reduce_argument(KernelCall& c, const ReductionAxes& axes);  ///< argmax, argmin
void reduce_variance(KernelCall& c, const ReductionAxes& axes);

/// Reads a reduction's operand as L.
template <class L>
class OperandReader {
 public:
  OperandReader(const TensorView& x, const ReductionAxes& axes)
      : data_(x.data), size_(element_size(x.dtype)), run_(x.dtype) {
    if (axes.operand != nullptr) computed_.emplace(*axes.operand, *axes.operand_call);
  }
  /// Reads n elements, at most kRun, from element `at` on. `following`: elements from `at` on that lie side by side and
  /// will be read in turn, at least n. Computed elements have stride 1.
  const L* read(std::int64_t at, std::int64_t stride, std::int64_t n, std::int64_t following) {
    if (!computed_) return run_.read(data_ + at * size_, stride, n);
    return run_.read(computed_->read(at, n, following), 1, n);
  }

 private:
  const std::byte* data_;
  std::int64_t size_;
  RunReader<L> run_;
  std::optional<FusedOperand::Reader> computed_;
};

/// A reduction has
///   Acc, Result            accumulator, and type of the result before conversion
///   Acc identity() const
///   void add_run(Acc&, const L*, n, first) const      n elements of a line from element `first` on
///   void add_each(Acc*, const L*, n, row) const       element `row` of n lines
///   void merge(Acc&, const Acc&) const                adds a later part of the line
///   Result finish(const Acc&, count) const
/// and perhaps
///   void add_rows(Acc*, const L*, row, rows, n) const `rows` elements of n lines, `row` apart
///   void sum_rows(const L*, n, rows, Acc*) const      whole lines of n elements, which follow each other
///   kReadsRow                                         add_each reads `row`
template <class L, class Reduction>
class Reducer {
 public:
  Reducer(KernelCall& c, const ReductionAxes& axes, const Reduction& reduction)
      : x_(c.in[0]), out_(c.out[0]), axes_(axes), reduction_(reduction) {}

  void run() {
    const CollapsedAxes &k = axes_.retained, &r = axes_.reduced;
    if (k.count == 0) return;
    const auto abs = [](std::int64_t v) { return v < 0 ? -v : v; };
    const bool nearer = k.rank > 0 && (r.rank == 0 || abs(k.inner_stride()) < abs(r.inner_stride()));
    const bool is_computed = axes_.operand != nullptr;  // element by element in memory order
    if (nearer || (!is_computed && r.inner_size() < 16 && k.inner_size() > 4 * r.inner_size())) {
      reduce_columns({k, r});
    } else if (has_interleaved_lines()) {
      reduce_columns(interleaved_columns());
    } else {
      reduce_rows();
    }
  }

 private:
  using Acc = typename Reduction::Acc;
  using Result = typename Reduction::Result;
  static constexpr std::int64_t kSegments =
      16;  ///< parts of a long line; fixed, so results do not depend on the number of threads
  static constexpr std::int64_t kLong = std::int64_t{1} << 17;
  static constexpr std::int64_t kDeep = 512;        ///< rows of a tile that is split
  static constexpr std::int64_t kShort = 128;       ///< elements of rows that are reduced several at a time
  static constexpr std::int64_t kFewLines = 16;     ///< fewer lines, or tiles of lines, leave threads idle
  static constexpr std::int64_t kLeastRepeats = 8;  ///< additions to an accumulator that repay its merging

  /// Other types have loops of single rows alone, which keeps the library small.
  static constexpr bool kReducesShortRows =
      std::is_same_v<L, float> || std::is_same_v<L, std::int64_t> || std::is_same_v<L, bool>;

  /// The loops of add_run are in the library once.
  [[gnu::noinline]] void add_run(Acc& acc, const L* v, std::int64_t n, std::int64_t first) const {
    reduction_.add_run(acc, v, n, first);
  }

  /// Adds elements begin..end of the line at element `line`. `after`: elements that follow the line's last one in
  /// memory and are read next.
  void accumulate(Acc& acc, OperandReader<L>& reader, std::int64_t line, std::int64_t begin, std::int64_t end,
                  std::int64_t after) const {
    const CollapsedAxes& r = axes_.reduced;
    const std::int64_t inner = r.inner_size(), stride = r.inner_stride();
    while (begin < end) {
      const std::int64_t left = std::min(inner - begin % inner, end - begin), n = std::min(left, kRun);
      add_run(acc, reader.read(line + r.offset(begin), stride, n, left + after), n, begin);
      begin += n;
    }
  }

  void reduce_rows() const {
    const std::int64_t n = axes_.reduced.count;
    if (n >= kLong && axes_.retained.count < kFewLines) return reduce_segments();
    const CollapsedAxes &k = axes_.retained, &r = axes_.reduced;
    const bool is_dense = r.rank <= 1 && r.inner_stride() == 1 && k.rank == 1 && k.inner_stride() == n;
    parallel_for(k.count, grain_for(n), [&](std::int64_t begin, std::int64_t end) {
      OperandReader<L> reader(x_, axes_);
      RunWriter<Result> writer(out_.dtype);
      for (std::int64_t o = begin; o < end; o += kRun) {
        const std::int64_t m = std::min(kRun, end - o);
        std::byte* at = out_.data + o * element_size(out_.dtype);
        Result* results = writer.begin(at, 1);
        if constexpr (kReducesShortRows) {
          if (is_dense && n > 0 && n <= kShort) {
            short_rows(reader, k.offset(o), m, (end - o) * n, results);
            writer.end(at, 1, m);
            continue;
          }
        }
        for (std::int64_t i = 0; i < m; ++i) {
          Acc acc = reduction_.identity();
          accumulate(acc, reader, k.offset(o + i), 0, n, is_dense ? (end - o - i - 1) * n : 0);
          results[i] = reduction_.finish(acc, n);
        }
        writer.end(at, 1, m);
      }
    });
  }

  /// Reduces `count` short rows that follow each other from element `first` on; `following` elements are read.
  void short_rows(OperandReader<L>& reader, std::int64_t first, std::int64_t count, std::int64_t following,
                  Result* results) const {
    const std::int64_t n = axes_.reduced.count, together = kRun / n;
    for (std::int64_t i = 0; i < count; i += together) {
      const std::int64_t m = std::min(together, count - i);
      const L* rows = reader.read(first + i * n, 1, m * n, following - i * n);
      if constexpr (requires { &Reduction::sum_rows; }) {
        Acc sums[kRun];
        reduction_.sum_rows(rows, n, m, sums);
        for (std::int64_t k = 0; k < m; ++k) results[i + k] = reduction_.finish(sums[k], n);
      } else {
        for (std::int64_t k = 0; k < m; ++k) {
          Acc acc = reduction_.identity();
          add_run(acc, rows + k * n, n, 0);
          results[i + k] = reduction_.finish(acc, n);
        }
      }
    }
  }

  /// Splits each of a few long lines into parts.
  void reduce_segments() const {
    const std::int64_t n = axes_.reduced.count;
    RunWriter<Result> writer(out_.dtype);
    for (std::int64_t o = 0; o < axes_.retained.count; ++o) {
      std::array<Acc, kSegments> parts;
      parts.fill(reduction_.identity());
      const std::int64_t line = axes_.retained.offset(o);
      parallel_for(kSegments, 1, [&](std::int64_t begin, std::int64_t end) {
        OperandReader<L> reader(x_, axes_);
        for (std::int64_t p = begin; p < end; ++p) {
          accumulate(parts[static_cast<std::size_t>(p)], reader, line, n * p / kSegments, n * (p + 1) / kSegments, 0);
        }
      });
      for (std::size_t p = 1; p < kSegments; ++p) reduction_.merge(parts[0], parts[p]);
      std::byte* at = out_.data + o * element_size(out_.dtype);
      *writer.begin(at, 1) = reduction_.finish(parts[0], n);
      writer.end(at, 1, 1);
    }
  }

  /// Columns that are reduced together: `lanes` neighbours each, which are merged at the end, belong to one line.
  struct Columns {
    CollapsedAxes retained, reduced;
    std::int64_t lanes = 1;
  };

  /// True for lines of many short pieces that lie between the pieces of other lines.
  bool has_interleaved_lines() const {
    const CollapsedAxes &k = axes_.retained, &r = axes_.reduced;
    if constexpr (requires { Reduction::kReadsRow; }) return false;
    return kReducesShortRows && r.rank > 1 && k.rank > 0 && r.inner_stride() == 1 &&
           k.inner_stride() == r.inner_size() && r.inner_size() <= kShort && r.count >= kLeastRepeats * r.inner_size();
  }
  Columns interleaved_columns() const {
    Columns c{axes_.retained, axes_.reduced, axes_.reduced.inner_size()};
    c.retained.sizes[c.retained.rank - 1] *= c.lanes;
    c.retained.strides[c.retained.rank - 1] = 1;
    c.retained.count *= c.lanes;
    --c.reduced.rank;
    c.reduced.count /= c.lanes;
    return c;
  }

  /// Elements of each column that a step takes: rows of few columns that follow each other make one wide row, whose
  /// repetitions of the columns are merged at the end.
  std::int64_t rows_of_a_step(const Columns& c) const {
    constexpr std::int64_t kWide = 128;
    if constexpr (requires { Reduction::kReadsRow; }) return 1;
    const std::int64_t inner = c.retained.inner_size();
    const bool follow =
        kReducesShortRows && c.retained.inner_stride() == 1 && c.reduced.rank == 1 && c.reduced.inner_stride() == inner;
    return follow ? std::max<std::int64_t>(1, std::min(kWide / inner, c.reduced.count / kLeastRepeats)) : 1;
  }

  /// True if tiles of whole rows lie in memory as they are reduced, one after the other.
  static bool follow_each_other(const Columns& c, std::int64_t tile_width) {
    const CollapsedAxes &k = c.retained, &r = c.reduced;
    const std::int64_t inner = k.inner_size();
    return r.rank <= 1 && k.inner_stride() == 1 && r.inner_stride() == inner && inner <= tile_width &&
           (k.rank == 1 || (k.rank == 2 && k.strides[0] == r.count * inner));
  }

  /// Reduces neighbouring columns together: tiles take one element of each column per step.
  void reduce_columns(const Columns& c) const {
    const CollapsedAxes &k = c.retained, &r = c.reduced;
    const std::int64_t step = rows_of_a_step(c);
    bool adds_rows = false;
    if constexpr (requires { &Reduction::add_rows; }) {
      // Wide rows are added one by one, so that sums of short rows have the bits of computed operands.
      adds_rows = step == 1 && c.lanes == 1 && k.inner_stride() == 1 && r.rank <= 1 && elements_per_byte(x_.dtype) == 1;
    }
    const std::int64_t most = adds_rows && axes_.operand == nullptr ? 1024 : 4096, tile_width = most - most % c.lanes;
    const std::int64_t inner = k.inner_size(), per_row = (inner + tile_width - 1) / tile_width;
    const std::int64_t tiles = k.count / inner * per_row;
    const bool is_in_order = follow_each_other(c, tile_width);
    const std::int64_t columns = std::min(inner, tile_width), width = columns * step;
    // A few deep tiles are split; the parts are merged afterwards.
    const std::int64_t parts = tiles < kFewLines && r.count >= kDeep && r.count * columns >= kLong ? kSegments : 1;
    std::vector<Acc> accs(static_cast<std::size_t>(parts > 1 ? tiles * parts * width : 0));
    parallel_for(tiles * parts, grain_for(columns * r.count / parts), [&](std::int64_t begin, std::int64_t end) {
      OperandReader<L> reader(x_, axes_);
      RunWriter<Result> writer(out_.dtype);
      Acc* local = parts > 1 ? nullptr : thread_buffer<Acc>(static_cast<std::size_t>(width));
      for (std::int64_t t = begin; t < end; ++t) {
        const std::int64_t tile = t / parts, part = t % parts;
        const std::int64_t row = tile / per_row, first = tile % per_row * tile_width,
                           m = std::min(tile_width, inner - first);
        const std::int64_t base = k.offset(row * inner) + first * k.inner_stride();
        Acc* acc = parts > 1 ? accs.data() + t * width : local;
        std::fill_n(acc, m * step, reduction_.identity());
        const std::int64_t row_begin = r.count * part / parts, row_end = r.count * (part + 1) / parts;
        const std::int64_t after = !is_in_order ? -1 : parts > 1 ? r.count - row_end : (end - t - 1) * r.count;
        add_columns(reader, c, acc, base, row_begin, row_end, m, step, adds_rows, after);
        merge_repeats(acc, m, step, c.lanes);
        if (parts == 1) finish_tile(writer, acc, (row * inner + first) / c.lanes, m / c.lanes);
      }
    });
    if (parts == 1) return;
    RunWriter<Result> writer(out_.dtype);
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      const std::int64_t row = tile / per_row, first = tile % per_row * tile_width,
                         m = std::min(tile_width, inner - first) / c.lanes;
      Acc* acc = accs.data() + tile * parts * width;
      for (std::int64_t p = 1; p < parts; ++p) {
        for (std::int64_t i = 0; i < m; ++i) reduction_.merge(acc[i], acc[p * width + i]);
      }
      finish_tile(writer, acc, (row * inner + first) / c.lanes, m);
    }
  }

  /// Adds elements [begin, end) of m columns from element `base` on, `step` rows at a time. `after`: rows that follow
  /// the last one in memory, or -1 if rows lie apart.
  void add_columns(OperandReader<L>& reader, const Columns& c, Acc* acc, std::int64_t base, std::int64_t begin,
                   std::int64_t end, std::int64_t m, std::int64_t step, bool adds_rows, std::int64_t after) const {
    const CollapsedAxes &k = c.retained, &r = c.reduced;
    const auto following = [&](std::int64_t row) {
      return (after < 0 ? std::min(step, end - row) : end - row + after) * m;
    };
    if constexpr (requires { &Reduction::add_rows; }) {
      if (adds_rows && axes_.operand == nullptr)
        return add_tile(acc, base + r.offset(begin), r.inner_stride(), end - begin, m);
      // Computed rows come in blocks.
      const std::int64_t together = kRun / m;
      if (adds_rows && after >= 0 && together > 1) {
        for (std::int64_t i = begin; i < end; i += together) {
          const std::int64_t rows = std::min(together, end - i);
          reduction_.add_rows(acc, reader.read(base + r.offset(i), 1, rows * m, following(i)), m, rows, m);
        }
        return;
      }
    }
    for (std::int64_t i = begin; i < end; i += step) {
      const std::int64_t from = base + r.offset(i), rows = std::min(step, end - i), width = m * rows;
      for (std::int64_t j = 0; j < width; j += kRun) {
        const std::int64_t n = std::min(kRun, width - j), stride = k.inner_stride();
        reduction_.add_each(acc + j, reader.read(from + j * stride, stride, n, following(i) - j), n, i);
      }
    }
  }

  /// Merges `step` repetitions of m columns, then each `lanes` neighbours.
  void merge_repeats(Acc* acc, std::int64_t m, std::int64_t step, std::int64_t lanes) const {
    for (std::int64_t s = 1; s < step; ++s) {
      for (std::int64_t i = 0; i < m; ++i) reduction_.merge(acc[i], acc[s * m + i]);
    }
    for (std::int64_t i = 0; lanes > 1 && i < m / lanes; ++i) {
      Acc all = acc[i * lanes];
      for (std::int64_t k = 1; k < lanes; ++k) reduction_.merge(all, acc[i * lanes + k]);
      acc[i] = all;
    }
  }

  /// Adds rows of m elements, `stride` elements apart from element `first` on; elements of another type are converted
  /// several rows at a time.
  void add_tile(Acc* acc, std::int64_t first, std::int64_t stride, std::int64_t rows, std::int64_t m) const {
    if (x_.dtype == dtype_of_v<L>) return reduction_.add_rows(acc, x_.data_as<L>() + first, stride, rows, m);
    constexpr std::int64_t kConverted = 8192;
    L* converted = thread_buffer<L>(static_cast<std::size_t>(kConverted), 1);
    const std::int64_t together = kConverted / m, size = element_size(x_.dtype);
    for (std::int64_t i = 0; i < rows; i += together) {
      const std::int64_t count = std::min(together, rows - i), runs = stride == m ? 1 : count;
      for (std::int64_t run = 0; run < runs; ++run) {
        const std::byte* from = x_.data + (first + (i + run) * stride) * size;
        convert(from, x_.dtype, converted + run * m, dtype_of_v<L>, runs == 1 ? count * m : m);
      }
      reduction_.add_rows(acc, converted, m, count, m);
    }
  }

  void finish_tile(RunWriter<Result>& writer, const Acc* acc, std::int64_t o, std::int64_t m) const {
    for (std::int64_t i = 0; i < m; i += kRun) {
      const std::int64_t n = std::min(kRun, m - i);
      std::byte* at = out_.data + (o + i) * element_size(out_.dtype);
      Result* results = writer.begin(at, 1);
      for (std::int64_t k = 0; k < n; ++k) results[k] = reduction_.finish(acc[i + k], axes_.reduced.count);
      writer.end(at, 1, n);
    }
  }

  const TensorView& x_;
  const TensorView& out_;
  const ReductionAxes& axes_;
  const Reduction& reduction_;
};

template <class L, class Reduction>
void run_reduce(KernelCall& c, const ReductionAxes& axes, const Reduction& reduction) {
  Reducer<L, Reduction>(c, axes, reduction).run();
}

}  // namespace tern
