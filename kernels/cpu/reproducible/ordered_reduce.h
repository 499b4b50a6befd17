// Sums and products of floating numbers as docs/reproducible.md defines them: parts of kSegment elements; of a part
// whole groups of kLanes go to as many lanes, each in order, the lanes are joined by halves, then with what is left of
// the part in order; parts are joined in order. In double. For sums that is what kernels/cpu/reductions/row_loops.h
// does with kSegment elements.
#pragma once

#include <cmath>
#include <complex>
#include <vector>

#include "kernels/cpu/accumulate.h"
#include "kernels/cpu/reductions/reduce.h"
#include "kernels/cpu/reductions/row_loops.h"

namespace tern {

inline constexpr std::int64_t kSegment = 512, kLanes = 16;
static_assert(kSegment == kRun, "a part is read at once");

/// A reduction has: L, Acc; start; term(element, index of its line); join(a, b).
template <class T>
struct SumReduction {
  using L = T;
  using Acc = wide_t<T>;
  static constexpr Acc start{};
  Acc term(L x, std::int64_t) const { return static_cast<Acc>(x); }
  static Acc join(Acc a, Acc b) { return a + b; }
};
template <class T>
struct ProductReduction {
  using L = T;
  using Acc = wide_t<T>;
  static constexpr Acc start{1};
  Acc term(L x, std::int64_t) const { return static_cast<Acc>(x); }
  static Acc join(Acc a, Acc b) {
    if constexpr (is_std_complex_v<Acc>) {
      return {std::fma(a.real(), b.real(), -(a.imag() * b.imag())), std::fma(a.real(), b.imag(), a.imag() * b.real())};
    } else {
      return a * b;
    }
  }
};
/// Sums squared distances from each line's mean.
template <class T>
struct DistanceReduction {
  using L = T;
  using Acc = double;
  static constexpr Acc start = 0;
  const wide_t<T>* line_means;
  Acc term(L x, std::int64_t line) const {
    const auto d = static_cast<wide_t<T>>(x) - line_means[line];
    if constexpr (is_std_complex_v<T>)
      return d.real() * d.real() + d.imag() * d.imag();
    else
      return d * d;
  }
  static Acc join(Acc a, Acc b) { return a + b; }
};

/// Reduces a part of a line with adjacent elements.
template <class Reduction>
typename Reduction::Acc reduce_part(const Reduction& f, const typename Reduction::L* x, std::int64_t n,
                                    std::int64_t line) {
  using Acc = typename Reduction::Acc;
  using L = typename Reduction::L;
  if constexpr (std::is_same_v<Reduction, SumReduction<L>> && std::is_floating_point_v<L>)
    return rows::loops<L>().sum(x, n);
  if constexpr (std::is_same_v<Reduction, DistanceReduction<L>> && std::is_floating_point_v<L>)
    return rows::loops<L>().distances(x, f.line_means[line], n);
  Acc lanes[kLanes], rest = Reduction::start;
  std::fill_n(lanes, kLanes, Reduction::start);
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::int64_t j = 0; j < kLanes; ++j) lanes[j] = Reduction::join(lanes[j], f.term(x[i + j], line));
  }
  for (; i < n; ++i) rest = Reduction::join(rest, f.term(x[i], line));
  for (std::int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::int64_t j = 0; j < width; ++j) lanes[j] = Reduction::join(lanes[j], lanes[j + width]);
  }
  return Reduction::join(lanes[0], rest);
}

/// Reduces a contiguous line.
template <class Reduction>
typename Reduction::Acc reduce_line(const Reduction& f, const typename Reduction::L* x, std::int64_t n,
                                    std::int64_t line = 0) {
  typename Reduction::Acc total = Reduction::start;
  for (std::int64_t i = 0; i < n; i += kSegment)
    total = Reduction::join(total, reduce_part(f, x + i, std::min(kSegment, n - i), line));
  return total;
}
template <class T>
wide_t<T> sum_line(const T* x, std::int64_t n) {
  return reduce_line(SumReduction<T>{}, x, n);
}

/// Reduces every line of a tensor.
template <class Reduction>
class OrderedReducer {
 public:
  using Acc = typename Reduction::Acc;
  using L = typename Reduction::L;

  OrderedReducer(const TensorView& x, const ReductionAxes& axes, const Reduction& reduction)
      : x_(x), axes_(axes), reduction_(reduction), size_(element_size(x.dtype)) {
    const auto abs = [](std::int64_t v) { return v < 0 ? -v : v; };
    const CollapsedAxes &k = axes.retained, &r = axes.reduced;
    columns_ = k.rank > 0 && (r.rank == 0 || abs(k.inner_stride()) < abs(r.inner_stride()));
    width_ = columns_ ? std::clamp<std::int64_t>(k.inner_size(), 1, kTile) : 1;
  }

  std::vector<Acc> run() const {
    const std::int64_t lines = axes_.retained.count, count = axes_.reduced.count,
                       parts = (count + kSegment - 1) / kSegment;
    std::vector<Acc> totals(static_cast<std::size_t>(lines), Reduction::start);
    if (lines == 0 || count == 0) return totals;
    const std::int64_t inner = columns_ ? axes_.retained.inner_size() : 1, per_row = (inner + width_ - 1) / width_;
    const std::int64_t tiles = lines / inner * per_row;
    // Splits a few tiles into parts, joined afterwards.
    const bool split = tiles < kFewTiles && parts > 1;
    std::vector<Acc> made(static_cast<std::size_t>(split ? tiles * parts * width_ : 0));
    const std::int64_t units = split ? tiles * parts : tiles;
    parallel_for(units, grain_for(split ? kSegment * width_ : count * width_),
                 [&](std::int64_t begin, std::int64_t end) {
                   RunReader<L> reader(x_.dtype);
                   std::vector<Acc> own(static_cast<std::size_t>((kLanes + 2) * width_));
                   for (std::int64_t u = begin; u < end; ++u) {
                     const std::int64_t tile = split ? u / parts : u;
                     const Tile t{tile / per_row * inner + tile % per_row * width_,
                                  std::min(width_, inner - tile % per_row * width_)};
                     if (split) {
                       reduce_segment(reader, t, u % parts, own.data(), made.data() + u * width_);
                       continue;
                     }
                     for (std::int64_t p = 0; p < parts; ++p) {
                       Acc* value = own.data() + (kLanes + 1) * width_;
                       reduce_segment(reader, t, p, own.data(), value);
                       join(totals.data() + t.first, value, t.lines);
                     }
                   }
                 });
    if (!split) return totals;
    for (std::int64_t u = 0; u < units; ++u) {
      const std::int64_t tile = u / parts, first = tile / per_row * inner + tile % per_row * width_;
      join(totals.data() + first, made.data() + u * width_, std::min(width_, inner - tile % per_row * width_));
    }
    return totals;
  }

 private:
  static constexpr std::int64_t kTile = 128;  ///< neighbouring lines per tile
  static constexpr std::int64_t kFewTiles = 16;
  struct Tile {
    std::int64_t first, lines;
  };

  static void join(Acc* to, const Acc* from, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = Reduction::join(to[i], from[i]);
  }

  void reduce_segment(RunReader<L>& reader, const Tile& t, std::int64_t number, Acc* lanes, Acc* value) const {
    const std::int64_t begin = number * kSegment, end = std::min(begin + kSegment, axes_.reduced.count);
    const std::byte* base = x_.data + axes_.retained.offset(t.first) * size_;
    if (columns_) {
      part_of_columns(reader, base, t, begin, end, lanes, value);
    } else {
      *value = part_of_row(reader, base, t.first, begin, end);
    }
  }

  Acc part_of_row(RunReader<L>& reader, const std::byte* base, std::int64_t line, std::int64_t begin,
                  std::int64_t end) const {
    const CollapsedAxes& r = axes_.reduced;
    const std::int64_t inner = r.inner_size(), stride = r.inner_stride();
    if (begin % inner + (end - begin) <= inner)
      return reduce_part(reduction_, reader.read(base + r.offset(begin) * size_, stride, end - begin), end - begin,
                         line);
    L together[kSegment];
    for (std::int64_t i = begin; i < end;) {
      const std::int64_t n = std::min(inner - i % inner, end - i);
      std::copy_n(reader.read(base + r.offset(i) * size_, stride, n), n, together + (i - begin));
      i += n;
    }
    return reduce_part(reduction_, together, end - begin, line);
  }

  /// Like reduce_part, for several neighbouring lines.
  void part_of_columns(RunReader<L>& reader, const std::byte* base, const Tile& t, std::int64_t begin, std::int64_t end,
                       Acc* lanes, Acc* value) const {
    const std::int64_t whole = (end - begin) / kLanes * kLanes;
    std::fill_n(lanes, (kLanes + 1) * width_, Reduction::start);
    for (std::int64_t i = begin; i < end; ++i) {
      const L* x = reader.read(base + axes_.reduced.offset(i) * size_, axes_.retained.inner_stride(), t.lines);
      Acc* lane = lanes + (i - begin < whole ? (i - begin) % kLanes : kLanes) * width_;
      if constexpr (std::is_same_v<Reduction, SumReduction<L>> && std::is_floating_point_v<L>) {
        rows::loops<L>().add_each(lane, x, t.lines);
      } else {
        for (std::int64_t j = 0; j < t.lines; ++j)
          lane[j] = Reduction::join(lane[j], reduction_.term(x[j], t.first + j));
      }
    }
    for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::int64_t j = 0; j < half; ++j) join(lanes + j * width_, lanes + (j + half) * width_, t.lines);
    }
    join(lanes, lanes + kLanes * width_, t.lines);
    std::copy_n(lanes, t.lines, value);
  }

  const TensorView& x_;
  const ReductionAxes& axes_;
  const Reduction& reduction_;
  std::int64_t size_, width_ = 1;
  bool columns_ = false;
};

}  // namespace tern
