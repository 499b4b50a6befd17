#include "kernels/cpu/products/tiles/split_convolution_driver.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "kernels/cpu/products/tiles/split_division.h"
#include "kernels/cpu/products/tiles/split_pack.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"
#include "threads/pieces.h"

namespace tern::tiles {
namespace {

constexpr std::int64_t kPair = 4;         // bytes of two bfloat16
constexpr std::int64_t kLine = 16;        // pairs in a line of the cache
constexpr std::int64_t kCache = 3 << 19;  // bytes of the second cache that a band and results share
constexpr std::int64_t kResults = 768;    // bytes of results, and of what they are added to, for a position
constexpr double kBeyond = 0.01;          // nanoseconds to read a byte from beyond that cache
constexpr double kLeastUse = 0.25;  // share of the products that tiles compute: below, plain multiply-adds are faster
constexpr std::size_t kImageSlot = 7;

std::int64_t rounded_up(std::int64_t n, std::int64_t to) {
  return (n + to - 1) / to * to;
}

}  // namespace

bool SplitConvolution::suits(const TileConvolutionShape& s) {
  const cpu::Window& w = s.window;
  if (!available() || w[0].kernel != 1 || w[0].in != 1 || w[0].out != 1) return false;
  const std::int64_t positions = w[1].out * w[2].out, taps = w[1].kernel * w[2].kernel;
  if (s.in * s.out * positions * taps < kWorthATile) return false;
  const std::int64_t pitch = w[2].out + phases_of(w[2]).reach, computed = rounded_up(w[1].out * pitch, kTile);
  const double use = static_cast<double>(s.in * s.out * positions) /
                     static_cast<double>(rounded_up(s.in, kStep) * rounded_up(s.out, kTile) * computed);
  return use >= kLeastUse;
}

SplitConvolution::SplitConvolution(const TileConvolutionShape& shape)
    : shape_(shape), height_(phases_of(shape.window[1])), width_(phases_of(shape.window[2])) {
  const cpu::Window& w = shape.window;
  taps_ = w[1].kernel * w[2].kernel;
  chunks_ = steps_of(shape.in);
  pitch_ = w[2].out + width_.reach;
  blocks_ = blocks_of(shape.out);
  bands_ = bands_for(Threads::current().count());
}

/// The cost of so many bands, for the thread that has most. Each block of channels reads its band again, in part from
/// beyond the second cache. The constants are those whose choices took 1.03 times the best ones' time in four networks'
/// layers.
double SplitConvolution::cost(std::int64_t bands, std::int64_t threads) const {
  const std::int64_t lines = lines_of(bands), channels = chunks_ * kStep;
  const auto phases = static_cast<double>(height_.phases.size() * width_.phases.size());
  const double left = static_cast<double>(kBlock * taps_ * channels),
               columns = static_cast<double>(rounded_up(lines * pitch_, kBlock));
  const double split = phases * static_cast<double>(channels * (lines + height_.reach) * pitch_) * kSplitCost;
  const std::int64_t beyond = std::max<std::int64_t>(0, bytes({0, lines}) + kResults * lines * pitch_ - kCache);
  const PanelDivision d{shape_.batch * shape_.groups * bands, blocks_, split,
                        left * (columns * kProductCost + kLeftCost) + static_cast<double>(beyond) * kBeyond};
  return d.cost(threads);
}

std::int64_t SplitConvolution::bands_for(std::int64_t threads) const {
  std::int64_t bands = 1;
  double least = cost(bands, threads);
  for (std::int64_t some = 2; some <= lines(); ++some) {
    if (const double c = cost(some, threads); c < least) {
      least = c;
      bands = some;
    }
  }
  return bands;
}

std::int64_t SplitConvolution::left_k() const {
  return taps_ == 1 ? shape_.in : taps_ * chunks_ * kStep;
}

std::int64_t SplitConvolution::plane(Band band) const {
  // An odd number of cache lines: rows of a tile, a plane apart, then fall on different sets of the cache.
  const std::int64_t lines = ((band.end - band.begin + height_.reach) * pitch_ + kLine - 1) / kLine;
  return (lines | 1) * kLine;
}

std::int64_t SplitConvolution::planes() const {
  return chunks_ * static_cast<std::int64_t>(height_.phases.size() * width_.phases.size()) * shape_.parts * kTile;
}

std::int64_t SplitConvolution::bytes(Band band) const {
  return planes() * plane(band) * kPair + 4 * kTileBytes;  // the last tile reads beyond the last plane
}

std::int64_t SplitConvolution::packed_at(std::int64_t row, std::int64_t channel, std::int64_t tap) const {
  const std::int64_t block = row / shape_.out * blocks_ + row % shape_.out / kBlock,
                     step = channel / kStep * taps_ + tap;
  return block * kBlock * left_k() + (step * kBlock + row % shape_.out % kBlock) * kStep + channel % kStep;
}

void SplitConvolution::pack(const float* weight, float* to) const {
  const std::int64_t padded = blocks_ * kBlock;  // rows of a group
  parallel_for(shape_.groups * padded, grain_for(left_k()), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      const bool inside = b % padded < shape_.out;
      const float* row = inside ? weight + (b / padded * shape_.out + b % padded) * shape_.in * taps_ : nullptr;
      float* at = to + b / kBlock * kBlock * left_k() + b % kBlock * kStep;
      for (std::int64_t q = 0; q < chunks_; ++q) {
        const std::int64_t count = inside ? std::min(kStep, shape_.in - q * kStep) : 0;
        for (std::int64_t t = 0; t < taps_; ++t, at += kBlock * kStep) {
          for (std::int64_t c = 0; c < count; ++c) at[c] = row[(q * kStep + c) * taps_ + t];
          std::fill(at + count, at + kStep, 0.0F);
        }
      }
    }
  });
}

void SplitConvolution::unpack(const float* packed, float* to) const {
  for (std::int64_t r = 0; r < shape_.groups * shape_.out; ++r) {
    for (std::int64_t c = 0; c < shape_.in; ++c) {
      for (std::int64_t t = 0; t < taps_; ++t) to[(r * shape_.in + c) * taps_ + t] = packed[packed_at(r, c, t)];
    }
  }
}

LeftOperand SplitConvolution::lhs_operand(const float* weight, std::int64_t group) const {
  if (reads_in_place()) return row_major(weight + group * shape_.out * shape_.in, shape_.out, shape_.in, shape_.in);
  const std::int64_t k = left_k();
  return {weight + group * blocks_ * kBlock * k, shape_.out, k, kBlock * k, kStep, kBlock * kStep};
}

void SplitConvolution::split_image(const float* x, Band band, std::byte* to) const {
  const cpu::WindowAxis &h = shape_.window[1], &w = shape_.window[2];
  const std::int64_t size = h.in * w.in, lines = band.end - band.begin + height_.reach, stride = plane(band) * kPair;
  const bool whole_lines = w.stride == 1 && pitch_ == w.in && width_.lowest == 0;
  for (std::int64_t pair = 0; pair < chunks_ * kTile; ++pair) {
    const std::int64_t channel = pair / kTile * kStep + pair % kTile;
    const float* a = channel < shape_.in ? x + channel * size : nullptr;
    const float* b = channel + kTile < shape_.in ? x + (channel + kTile) * size : nullptr;
    for (std::size_t i = 0; i < height_.phases.size(); ++i) {
      for (std::size_t j = 0; j < width_.phases.size(); ++j) {
        const auto phase = static_cast<std::int64_t>(
            (static_cast<std::size_t>(pair / kTile) * height_.phases.size() + i) * width_.phases.size() + j);
        std::byte* base = to + (phase * shape_.parts * kTile + pair % kTile) * stride;
        const std::int64_t first_column = width_.lowest * w.stride + width_.phases[j];
        for (std::int64_t r = 0; r < lines; ++r) {
          const std::int64_t row = (band.begin + r + height_.lowest) * h.stride + height_.phases[i];
          const bool inside = row >= 0 && row < h.in;
          std::byte* const at = base + r * pitch_ * kPair;
          std::byte* const all[kAllParts] = {at, at + kTile * stride, at + 2 * kTile * stride};
          const std::span places(all, static_cast<std::size_t>(shape_.parts));
          const auto line = [&](const float* image) {
            return image != nullptr && inside ? image + row * w.in : nullptr;
          };
          if (whole_lines && h.stride == 1 && inside) {  // all lines at once
            const std::int64_t count = std::min(lines - r, h.in - row), size = count * w.in;
            split_line({line(a), line(b), size}, 0, 1, size, places);
            r += count - 1;
          } else {
            split_line({line(a), line(b), w.in}, first_column, w.stride, pitch_, places);
          }
        }
      }
    }
  }
}

/// The operands that blocks of channels share: a group of an image in a band, whose parts were split.
class SplitConvolution::BandProduct {
 public:
  BandProduct(const SplitConvolution& c, const SplitConvolutionOperands& o, std::int64_t job, Band band,
              const std::byte* parts, std::atomic<bool>& finite)
      : lhs_(c.lhs_operand(o.weight, job % c.shape_.groups)),
        steps_(step_offsets(c, band)),
        tiles_(destinations(c, band)),
        target_(target(c, o, job, band)),
        sink_(target_, tiles_, finite) {
    const std::int64_t stride = c.plane(band) * kPair;
    right_ = {parts, steps_, kTile * stride, kTile * kPair, stride, c.shape_.parts};
  }
  BandProduct(const BandProduct&) = delete;
  BandProduct& operator=(const BandProduct&) = delete;

  void run(IndexRange blocks, std::int64_t next) {
    multiply(lhs_, right_, blocks, {0, static_cast<std::int64_t>(tiles_.size())}, sink_, next);
  }

 private:
  static std::vector<std::int64_t> step_offsets(const SplitConvolution& c, Band band) {
    const std::int64_t stride = c.plane(band);
    std::vector<std::int64_t> steps;
    // All elements of the kernel for some channels, then the next: the same lines are read again while they are close.
    for (std::int64_t q = 0; q < c.chunks_; ++q) {
      for (std::size_t i = 0; i < c.height_.shift.size(); ++i) {
        for (std::size_t j = 0; j < c.width_.shift.size(); ++j) {
          const std::int64_t phase = (q * static_cast<std::int64_t>(c.height_.phases.size()) + c.height_.phase[i]) *
                                         static_cast<std::int64_t>(c.width_.phases.size()) +
                                     c.width_.phase[j];
          steps.push_back((phase * c.shape_.parts * kTile * stride +
                           (c.height_.shift[i] - c.height_.lowest) * c.pitch_ + c.width_.shift[j] - c.width_.lowest) *
                          kPair);
        }
      }
    }
    return steps;
  }

  /// Destinations of the column tiles.
  static std::vector<Destination> destinations(const SplitConvolution& c, Band band) {
    const std::int64_t out_width = c.shape_.window[2].out,
                       computed = (band.end - band.begin - 1) * c.pitch_ + out_width;
    std::vector<Destination> tiles(static_cast<std::size_t>(tiles_of(computed)));
    for (std::int64_t at = computed; at-- > 0;) {
      if (at % c.pitch_ >= out_width) continue;
      Destination& d = tiles[static_cast<std::size_t>(at / kTile)];
      d.mask = static_cast<std::uint16_t>(d.mask | 1u << at % kTile);
      d.offset = at / c.pitch_ * out_width + at % c.pitch_;
      ++d.count;
    }
    return tiles;
  }

  static PlainSink::Target target(const SplitConvolution& c, const SplitConvolutionOperands& o, std::int64_t job,
                                  Band band) {
    const TileConvolutionShape& s = c.shape_;
    const std::int64_t group = job % s.groups, out_width = s.window[2].out, positions = s.window[1].out * out_width,
                       begin = job * s.out * positions + band.begin * out_width;
    return {o.y + begin, positions, s.out, o.bias == nullptr ? nullptr : o.bias + group * s.out, o.finish, begin};
  }

  LeftOperand lhs_;
  std::vector<std::int64_t> steps_;
  std::vector<Destination> tiles_;
  PlainSink::Target target_;
  PlainSink sink_;
  Right right_;
};

bool SplitConvolution::run(const SplitConvolutionOperands& o, std::byte*) const {
  const std::int64_t panels = shape_.batch * shape_.groups * bands_,
                     image = shape_.in * shape_.window[1].in * shape_.window[2].in;
  std::atomic<bool> finite = true;
  const std::int64_t weight = shape_.out * left_k(), threads = Threads::current().count(),
                     chunk_reads = panels >= threads ? weight : image / bands_ + weight * (panels - 1) / threads;
  // Pieces are whole bands: who takes one has to split it.
  parallel_pieces(
      panels * blocks_, blocks_, 1,
      [&](Pieces& pieces) {
        auto* parts = thread_buffer<std::byte>(static_cast<std::size_t>(bytes({0, lines_of(bands_)})), kImageSlot);
        std::optional<BandProduct> product;
        std::int64_t ready = -1;  // its panel
        for (Pieces::Range r = pieces.next(); !r.empty(); r = pieces.next()) {
          for (std::int64_t i = r.begin; i < r.end;) {
            const std::int64_t panel = i / blocks_, first = panel * blocks_, end = std::min(r.end, first + blocks_),
                               job = panel / bands_;
            if (panel != ready) {
              const Band band = band_at(panel % bands_);
              split_image(o.x + job * image, band, parts);
              product.emplace(*this, o, job, band, parts, finite);
              ready = panel;
            }
            product->run({i - first, end - first}, std::min(blocks_, pieces.own_end() - first));
            i = end;
          }
        }
      },
      chunk_reads * static_cast<std::int64_t>(sizeof(float)));
  return finite;
}

}  // namespace tern::tiles
