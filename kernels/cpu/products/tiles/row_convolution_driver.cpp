#include "kernels/cpu/products/tiles/row_convolution_driver.h"

#include <algorithm>
#include <atomic>

#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::tiles {
namespace {

constexpr std::int64_t kBandBytes = 768 << 10;  // bytes of a band that stays in the second cache
constexpr std::int64_t kFewBandRows = 256;      // rows of a band whose weight stays there, too
constexpr std::int64_t kSmallWeight = 256 << 10;
constexpr std::size_t kBandSlot = 7, kOrderedSlot = 3;
constexpr std::int64_t kFewShare = 2;  // threads: to round for each of them takes no longer than to wait for the others

/// Puts all positions in one column where every window is one of them, in order.
TileConvolutionShape merged(TileConvolutionShape s) {
  if (!cpu::is_every_position(s.window)) return s;
  const std::int64_t positions = s.batch * cpu::plane(s.window, &cpu::WindowAxis::out);
  s.batch = 1;
  s.window = {};
  s.window[1].in = s.window[1].out = positions;
  return s;
}

RowBand band_of(const TileConvolutionShape& s, const RowFormat& format) {
  return {s.window, s.groups * s.in, s.in, format};
}

/// Floats, or bfloat16.
class FloatImage : public RowImage {
 public:
  explicit FloatImage(Elements x) : x_(x) {}
  void line(std::int64_t first, std::int64_t count, std::byte* to) const override {
    round_line(x_.offset_by(first), count, to);
  }
  void tiles(std::int64_t first, std::int64_t row, IndexRange rows, std::int64_t k, const RowLayout& layout,
             std::byte* to) const override {
    pack_rows(x_.offset_by(first), row, rows, k, layout, to);
  }
  const std::byte* element(std::int64_t first) const override { return x_.offset_by(first).data; }

 private:
  Elements x_;
};

}  // namespace

bool RowConvolution::suits(const TileConvolutionShape& s) {
  const cpu::Window& w = s.window;
  if (w[0].kernel != 1 || w[0].in != 1 || w[0].out != 1) return false;
  const std::int64_t positions = s.batch * w[1].out * w[2].out, taps = w[1].kernel * w[2].kernel;
  if (positions < 4 || s.in * taps * s.out * positions < kWorthATile) return false;
  // Some products meet zeros: below a share of others, plain multiply-adds are faster. Vectors leave out more of it.
  const RowBand band = band_of(s, RowFormat::bfloat16());
  const double least = available() ? 0.2 : 0.6;
  const std::int64_t deep = available() ? band.steps() * kStep : band.pairs() * 2,
                     computed = deep * tiles_of(s.out) * kTile;
  return static_cast<double>(s.in * taps * s.out) >= least * static_cast<double>(computed);
}

RowConvolutionLoop::RowConvolutionLoop(const TileConvolutionShape& shape, const RowFormat& format)
    : shape_(merged(shape)), format_(format), band_(band_of(shape_, format)), blocks_(blocks_of(shape.out)) {
  const std::int64_t threads = Threads::current().count(), lines = shape_.window[1].out, width = shape_.window[2].out;
  const auto steps = static_cast<double>(band_.steps());
  const double line = static_cast<double>(image_elements()) / static_cast<double>(lines) *
                      static_cast<double>(2 * format.element),
               block = steps * 2 * kTileBytes;
  const double tiles = static_cast<double>(rows_of(lines)) / static_cast<double>(lines) / kTile;
  division_ =
      divide({shape_.batch * lines, shape_.groups * blocks_, tiles * steps * format.step_cycles, line, block}, threads);
  shared_ = division_.columns > 1;
  lines_at_a_time_ = lines;
  if (shared_) {
    const double tile = line * kTile / static_cast<double>(width);
    alone_ = division_.columns <= kFewShare;
    division_ =
        divide({tiles_of(rows_of(lines)), shape_.groups * blocks_, steps * format.step_cycles, tile, block}, threads);
    return;
  }
  const std::int64_t most = packed_bytes() <= kSmallWeight ? kFewBandRows : rows_of(lines);
  while (lines_at_a_time_ > 1 && (band_.bytes(lines_at_a_time_) > kBandBytes || rows_of(lines_at_a_time_) > most))
    lines_at_a_time_ = (lines_at_a_time_ + 1) / 2;
  if (width == 1 && lines_at_a_time_ < lines) lines_at_a_time_ = (lines_at_a_time_ + kBlock - 1) / kBlock * kBlock;
}

std::int64_t RowConvolutionLoop::image_elements() const {
  return shape_.groups * shape_.in * shape_.window[1].in * shape_.window[2].in;
}

std::int64_t RowConvolutionLoop::rows_of(std::int64_t lines) const {
  return (lines - 1) * band_.rows_of_line() + shape_.window[2].out;
}

void RowConvolution::pack(const WriteRow& weight, std::byte* to) const {
  const TileConvolutionShape& shape = loop_.shape();
  const std::int64_t row = loop_.steps() * kStep, width = shape.window[2].kernel, taps = shape.window[1].kernel * width,
                     exported = shape.in * taps;
  const auto in_order = [&](const float* from, float* ordered) {
    for (const Stretch& s : loop_.band().stretches()) {
      const std::int64_t steps = steps_of(s.size);
      for (std::int64_t i = 0; i < s.size / shape.in; ++i) {
        const float* x = from + s.line * width + s.column + i;
        float* y = ordered + i * shape.in;
        for (std::int64_t c = 0; c < shape.in; ++c) y[c] = x[c * taps];
      }
      std::fill(ordered + s.size, ordered + steps * kStep, 0.0F);
      ordered += steps * kStep;
    }
  };
  parallel_for(shape.groups * loop_.blocks(), grain_for(kBlock * row), [&](std::int64_t begin, std::int64_t end) {
    auto* ordered = thread_buffer<float>(static_cast<std::size_t>(kBlock * row + exported), kOrderedSlot);
    float* const plain = ordered + kBlock * row;
    for (std::int64_t b = begin; b < end; ++b) {
      const std::int64_t first = b % loop_.blocks() * kBlock, count = std::min(kBlock, shape.out - first);
      for (std::int64_t n = 0; n < count; ++n) {
        const std::int64_t of = b / loop_.blocks() * shape.out + first + n;
        weight(of, taps == 1 ? ordered + n * row : plain);
        taps == 1 ? std::fill(ordered + n * row + exported, ordered + (n + 1) * row, 0.0F)
                  : in_order(plain, ordered + n * row);
      }
      pack_weight({reinterpret_cast<const std::byte*>(ordered)}, row, count, row,
                  to + b * packed_weight_bytes(kBlock, loop_.steps()));
    }
  });
}

void RowConvolution::pack(const float* weight, std::byte* to) const {
  const TileConvolutionShape& shape = loop_.shape();
  const std::int64_t row = shape.in * shape.window[1].kernel * shape.window[2].kernel;
  pack([&](std::int64_t r, float* into) { std::copy_n(weight + r * row, row, into); }, to);
}

void RowConvolution::unpack(const std::byte* packed, float* to) const {
  const TileConvolutionShape& shape = loop_.shape();
  const std::int64_t exported = shape.in * shape.window[1].kernel * shape.window[2].kernel;
  for (std::int64_t n = 0; n < shape.groups * shape.out; ++n) {
    const std::byte* group = packed + n / shape.out * loop_.group_bytes();
    loop_.for_each_element([&](std::int64_t place, std::int64_t plain) {
      to[n * exported + plain] = packed_element(group, loop_.steps(), n % shape.out, place);
    });
  }
}

std::size_t RowConvolutionLoop::scratch() const {
  return shared_ && !alone_ ? static_cast<std::size_t>(band_.bytes(shape_.window[1].out)) : 0;
}

bool RowConvolutionLoop::multiply(const Run& run, const Lines& lines, IndexRange tiles, IndexRange blocks,
                                  const std::byte* band) const {
  const std::int64_t count = lines.end - lines.begin,
                     rows = std::min(rows_of(count), tiles.end * kTile) - tiles.begin * kTile,
                     width = shape_.window[2].out, ld = shape_.groups * shape_.out;
  bool finite = true;
  while (blocks.begin < blocks.end && rows > 0) {
    const std::int64_t group = blocks.begin / blocks_, first = blocks.begin % blocks_,
                       last = std::min(blocks_, first + blocks.end - blocks.begin);
    const std::vector<std::int64_t> steps = band_.step_offsets(group, count);
    RowResults results = run.results;
    results.ld = ld;
    results.columns = shape_.out;
    results.first = (lines.image * shape_.window[1].out + lines.begin) * width;
    results.begin = tiles.begin * kTile;
    results.pitch = band_.rows_of_line();
    results.width = width;
    if (results.bias != nullptr) results.bias += group * shape_.out;
    if (results.offsets != nullptr) results.offsets += group * shape_.out;
    results.offset = group * shape_.out;
    finite = run.multiply(band_.rows(band, tiles.begin, rows, steps), run.weight + group * group_bytes(), {first, last},
                          results) &&
             finite;
    blocks.begin += last - first;
  }
  return finite;
}

bool RowConvolutionLoop::run(const RowImage& image, bool in_place, const std::byte* weight, const RowResults& results,
                             const Multiply& multiply_rows, std::byte* scratch) const {
  const Run run{weight, results, multiply_rows};
  std::atomic<bool> finite = true;
  in_place = in_place && band_.is_image();
  const std::int64_t height = shape_.window[1].out, all = shape_.groups * blocks_;
  if (!shared_) {
    parallel_for(shape_.batch * height, 1, [&](std::int64_t begin, std::int64_t end) {
      std::byte* loaded = nullptr;
      if (!in_place)
        loaded = thread_buffer<std::byte>(static_cast<std::size_t>(band_.bytes(lines_at_a_time_)), kBandSlot);
      while (begin < end) {
        const std::int64_t first = begin % height;
        const Lines lines{begin / height, first, std::min({first + lines_at_a_time_, height, first + end - begin})};
        const std::int64_t count = lines.end - lines.begin;
        const std::int64_t at = lines.image * image_elements();
        const std::byte* band = in_place ? image.element(at + lines.begin * (image_elements() / height)) : loaded;
        if (!in_place) band_.load(image, at, {lines.begin, lines.end}, {0, band_.pieces(count)}, loaded);
        if (!multiply(run, lines, {0, tiles_of(rows_of(count))}, {0, all}, band))
          finite.store(false, std::memory_order_relaxed);
        begin += count;
      }
    });
    return finite;
  }
  const std::int64_t tiles = tiles_of(rows_of(height)), pieces = band_.pieces(height);
  const auto load = [&](std::int64_t n, IndexRange of, std::byte* band) {
    band_.load(image, n * image_elements(), {0, height}, of, band);
  };
  for (std::int64_t n = 0; n < shape_.batch; ++n) {
    if (!in_place && !alone_) {
      parallel_for(pieces, grain_for(image_elements() / pieces), [&](std::int64_t begin, std::int64_t end) {
        load(n, {begin, end}, scratch);
      });
    }
    parallel_for(division_.count(), 1, [&](std::int64_t begin, std::int64_t end) {
      const std::byte* band = in_place ? image.element(n * image_elements()) : scratch;
      if (!in_place && alone_) {
        auto* own = thread_buffer<std::byte>(static_cast<std::size_t>(band_.bytes(height)), kBandSlot);
        load(n, {0, pieces}, own);
        band = own;
      }
      for (std::int64_t i = begin; i < end; ++i) {
        if (!multiply(run, {n, 0, height}, part_of(tiles, division_.rows, i / division_.columns),
                      part_of(all, division_.columns, i % division_.columns), band))
          finite.store(false, std::memory_order_relaxed);
      }
    });
  }
  return finite;
}

bool RowConvolution::run(const RowConvolutionOperands& o, std::byte* scratch) const {
  const RowResults results{.y = o.y, .narrow = o.narrow, .bias = o.bias, .finish = o.finish};
  return loop_.run(FloatImage(o.x), o.x.narrow, o.weight, results, multiply_rows, scratch);
}

}  // namespace tern::tiles
