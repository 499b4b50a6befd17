#include "kernels/cpu/amx/convolve.h"

#include <algorithm>

#include "kernels/cpu/amx/panels.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"
#include "threads/pieces.h"

namespace tern::amx {
namespace {

constexpr std::int64_t kPair = 4;               // bytes of two bfloat16
constexpr std::int64_t kLine = 16;              // pairs in a line of the cache
constexpr std::int64_t kBandBytes = 512 << 10;  // of a band's parts: they stay in the second cache
constexpr std::int64_t kWorthATile = 1 << 16;   // products; fewer are faster without
constexpr double kLeastUse = 0.25;              // of what tiles compute: below, plain multiply-adds are faster
constexpr std::size_t kImageSlot = 7;

std::int64_t rounded_up(std::int64_t n, std::int64_t to) {
  return (n + to - 1) / to * to;
}

}  // namespace

bool Convolution::suits(const ConvolutionShape& s) {
  const cpu::Window& w = s.window;
  if (!available() || w[0].kernel != 1 || w[0].in != 1 || w[0].out != 1) return false;
  const std::int64_t positions = w[1].out * w[2].out, taps = w[1].kernel * w[2].kernel;
  if (s.in * s.out * positions * taps < kWorthATile) return false;
  const std::int64_t pitch = w[2].out + phases_of(w[2]).reach, computed = rounded_up(w[1].out * pitch, kTile);
  const double use = static_cast<double>(s.in * s.out * positions) /
                     static_cast<double>(rounded_up(s.in, kStep) * rounded_up(s.out, kTile) * computed);
  return use >= kLeastUse;
}

Convolution::Convolution(const ConvolutionShape& shape)
    : shape_(shape), height_(phases_of(shape.window[1])), width_(phases_of(shape.window[2])) {
  const cpu::Window& w = shape.window;
  taps_ = w[1].kernel * w[2].kernel;
  chunks_ = steps_of(shape.in);
  pitch_ = w[2].out + width_.reach;
  blocks_ = (shape.out + kBlock - 1) / kBlock;
  const std::int64_t lines = w[1].out, threads = Threads::current().count();
  // Threads divide the larger dimension: positions or channels.
  by_bands_ = lines * pitch_ >= shape.out || blocks_ < threads || shape.batch * shape.groups >= 2 * threads;
  band_lines_ = lines;
  if (by_bands_) {
    while (band_lines_ > 1 && bytes({0, band_lines_}) > kBandBytes) band_lines_ = (band_lines_ + 1) / 2;
    const std::int64_t jobs = shape.batch * shape.groups,
                       bands = rounded_up(jobs * ((lines + band_lines_ - 1) / band_lines_), threads) / jobs;
    band_lines_ = std::max<std::int64_t>(1, (lines + bands - 1) / std::max<std::int64_t>(1, bands));
  }
}

std::int64_t Convolution::left_k() const {
  return taps_ == 1 ? shape_.in : taps_ * chunks_ * kStep;
}

std::int64_t Convolution::plane(Band band) const {
  // An odd number of cache lines: rows of a tile, a plane apart, then fall on different sets of the cache.
  const std::int64_t lines = ((band.end - band.begin + height_.reach) * pitch_ + kLine - 1) / kLine;
  return (lines | 1) * kLine;
}

std::int64_t Convolution::planes() const {
  return chunks_ * static_cast<std::int64_t>(height_.phases.size() * width_.phases.size()) * shape_.parts * kTile;
}

std::int64_t Convolution::bytes(Band band) const {
  return planes() * plane(band) * kPair + 4 * kTileBytes;  // the last tile reads beyond the last plane
}

std::size_t Convolution::scratch() const {
  const bool alone = by_bands_ || splits_alone(shape_.out, Threads::current().count());
  return alone ? 0 : static_cast<std::size_t>(bytes({0, shape_.window[1].out}));
}

std::int64_t Convolution::packed_at(std::int64_t row, std::int64_t channel, std::int64_t tap) const {
  const std::int64_t block = row / shape_.out * blocks_ + row % shape_.out / kBlock,
                     step = channel / kStep * taps_ + tap;
  return block * kBlock * left_k() + (step * kBlock + row % shape_.out % kBlock) * kStep + channel % kStep;
}

void Convolution::pack(const float* weight, float* to) const {
  std::fill_n(to, packed_size(), 0.0F);
  parallel_for(shape_.groups * shape_.out, grain_for(left_k()), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      for (std::int64_t c = 0; c < shape_.in; ++c) {
        for (std::int64_t t = 0; t < taps_; ++t) to[packed_at(r, c, t)] = weight[(r * shape_.in + c) * taps_ + t];
      }
    }
  });
}

void Convolution::unpack(const float* packed, float* to) const {
  for (std::int64_t r = 0; r < shape_.groups * shape_.out; ++r) {
    for (std::int64_t c = 0; c < shape_.in; ++c) {
      for (std::int64_t t = 0; t < taps_; ++t) to[(r * shape_.in + c) * taps_ + t] = packed[packed_at(r, c, t)];
    }
  }
}

Left Convolution::left(const float* weight, std::int64_t group) const {
  if (reads_in_place()) return row_major(weight + group * shape_.out * shape_.in, shape_.out, shape_.in, shape_.in);
  const std::int64_t k = left_k();
  return {weight + group * blocks_ * kBlock * k, shape_.out, k, kBlock * k, kStep, kBlock * kStep};
}

/// Pairs of channels [first, last) of the image at x.
void Convolution::split_image(const float* x, Band band, std::int64_t first, std::int64_t last, std::byte* to) const {
  const cpu::WindowAxis &h = shape_.window[1], &w = shape_.window[2];
  const std::int64_t size = h.in * w.in, lines = band.end - band.begin + height_.reach, stride = plane(band) * kPair;
  const bool whole_lines = w.stride == 1 && pitch_ == w.in && width_.lowest == 0;
  for (std::int64_t pair = first; pair < last; ++pair) {
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

/// Blocks of channels of one group of one image in one band, whose parts were split.
bool Convolution::multiply_band(const ConvolutionOperands& o, std::int64_t job, Band band, Range blocks,
                                const std::byte* parts) const {
  const std::int64_t group = job % shape_.groups, out_width = shape_.window[2].out,
                     positions = shape_.window[1].out * out_width, stride = plane(band);
  std::vector<std::int64_t> steps;
  // All elements of the kernel for some channels, then the next: the same lines are read again while they are close.
  for (std::int64_t q = 0; q < chunks_; ++q) {
    for (std::size_t i = 0; i < height_.shift.size(); ++i) {
      for (std::size_t j = 0; j < width_.shift.size(); ++j) {
        const std::int64_t phase = (q * static_cast<std::int64_t>(height_.phases.size()) + height_.phase[i]) *
                                       static_cast<std::int64_t>(width_.phases.size()) +
                                   width_.phase[j];
        steps.push_back((phase * shape_.parts * kTile * stride + (height_.shift[i] - height_.lowest) * pitch_ +
                         width_.shift[j] - width_.lowest) *
                        kPair);
      }
    }
  }
  const std::int64_t computed = (band.end - band.begin - 1) * pitch_ + out_width;
  std::vector<Destination> tiles(static_cast<std::size_t>(tiles_of(computed)));
  for (std::int64_t at = computed; at-- > 0;) {
    if (at % pitch_ >= out_width) continue;
    Destination& d = tiles[static_cast<std::size_t>(at / kTile)];
    d.mask = static_cast<std::uint16_t>(d.mask | 1u << at % kTile);
    d.to = at / pitch_ * out_width + at % pitch_;
    ++d.count;
  }
  const std::int64_t begin = job * shape_.out * positions + band.begin * out_width;
  const PlainSink::Target target{
      o.y + begin, positions, shape_.out, o.bias == nullptr ? nullptr : o.bias + group * shape_.out, o.finish, begin};
  std::atomic<bool> finite = true;
  PlainSink sink(target, tiles, finite);
  multiply(left(o.weight, group), {parts, steps, kTile * stride * kPair, kTile * kPair, stride * kPair, shape_.parts}, blocks,
           {0, static_cast<std::int64_t>(tiles.size())}, sink);
  return finite;
}

bool Convolution::run(const ConvolutionOperands& o, std::byte* scratch) const {
  const std::int64_t lines = shape_.window[1].out, bands = (lines + band_lines_ - 1) / band_lines_,
                     jobs = shape_.batch * shape_.groups, image = shape_.in * shape_.window[1].in * shape_.window[2].in;
  std::atomic<bool> finite = true;
  if (by_bands_) {
    parallel_pieces(jobs * bands, 1, 1, [&](Pieces& pieces) {
      auto* parts = thread_buffer<std::byte>(static_cast<std::size_t>(bytes({0, band_lines_})), kImageSlot);
      for (Pieces::Range r = pieces.next(); !r.empty(); r = pieces.next()) {
        for (std::int64_t i = r.begin; i < r.end; ++i) {
          const std::int64_t job = i / bands, first = i % bands * band_lines_;
          const Band band{first, std::min(lines, first + band_lines_)};
          split_image(o.x + job * image, band, 0, chunks_ * kTile, parts);
          if (!multiply_band(o, job, band, {0, blocks_}, parts)) finite = false;
        }
      }
    });
    return finite;
  }
  const Band all{0, lines};
  const bool alone = splits_alone(shape_.out, Threads::current().count());
  for (std::int64_t job = 0; job < jobs; ++job) {
    const float* x = o.x + job * image;
    if (!alone) {
      parallel_for(chunks_ * kTile, grain_for(plane(all)),
                   [&](std::int64_t begin, std::int64_t end) { split_image(x, all, begin, end, scratch); });
    }
    parallel_pieces(blocks_, 1, 1, [&](Pieces& pieces) {
      std::byte* parts = scratch;
      if (alone) {
        parts = thread_buffer<std::byte>(static_cast<std::size_t>(bytes(all)), kImageSlot);
        split_image(x, all, 0, chunks_ * kTile, parts);
      }
      for (Pieces::Range r = pieces.next(); !r.empty(); r = pieces.next()) {
        if (!multiply_band(o, job, all, {r.begin, r.end}, parts)) finite = false;
      }
    });
  }
  return finite;
}

}  // namespace tern::amx
