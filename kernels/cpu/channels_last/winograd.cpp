#include "kernels/cpu/channels_last/winograd.h"

#include <algorithm>
#include <atomic>

#include "kernels/cpu/channels_last/loops.h"
#include "kernels/cpu/channels_last/registers.h"
#include "kernels/cpu/scratch.h"
#include "platform/environment.h"
#include "threads/parallel.h"

namespace tern::channels_last {
namespace {

using cpu::WindowAxis;
using strided_product::kPackedSlot;
using strided_product::StridedMicroKernels;

constexpr std::int64_t kTaps = 9, kElements = kTransformed * kTransformed;
constexpr std::int64_t kWinogradFewestChannels = 16;  // a vector
constexpr std::int64_t kDepth = 64;                   // channels of a weight per transform
constexpr std::int64_t kWinogradTogether = 64;        // tiles per block of sums
constexpr std::int64_t kFloats = 1 << 20;             // floats of transformed tiles kept at a time
constexpr std::int64_t kApart = 16;                   // floats between tiles, against collisions in the first cache
constexpr std::int64_t kChannelsOfPart = 64;          // channels of a tile per transform
constexpr std::size_t kWinogradWeightSlot = 3, kSumsSlot = 5;

std::int64_t divided_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Floats of a transformed element of a tile: the channels of all slices.
std::int64_t floats_of_element(const ChannelsLastShape& c) {
  return c.groups * c.in * c.window[0].kernel + kApart;
}

/// The grid of tiles over all images.
struct WinogradGrid {
  explicit WinogradGrid(const ChannelsLastShape& c)
      : lines(divided_up(c.window[1].out, kTile)),
        columns(divided_up(c.window[2].out, kTile)),
        count(c.batch * c.window[0].out * lines * columns) {}
  std::int64_t lines, columns, count;
  std::int64_t image(std::int64_t tile) const { return tile / (lines * columns); }
  /// Returns the line of the tile's first result.
  std::int64_t line(std::int64_t tile) const { return tile / columns % lines * kTile; }
  std::int64_t column(std::int64_t tile) const { return tile % columns * kTile; }
};

double plain_cost(const ChannelsLastShape& c) {
  return static_cast<double>(c.batch * cpu::plane(c.window, &WindowAxis::out) *
                             cpu::plane(c.window, &WindowAxis::kernel) * c.groups * c.in * c.out);
}

/// Transforms and multiplies some tiles of the images.
class Tiles {
 public:
  Tiles(const ChannelsLastShape& c, const ChannelsLastOperands& at, const pointwise::BoundEpilogue& finish,
        float* transformed, std::int64_t most)
      : c_(c),
        grid_(c),
        operands_(at),
        finish_(finish),
        loops_(loops().winograd),
        micro_(strided_product::micro_kernels()),
        transformed_(transformed),
        slices_(c.window[0].kernel),
        pitch_(floats_of_element(c)),
        element_(most * pitch_),
        panels_((c.out + micro_.columns - 1) / micro_.columns) {}

  std::int64_t panels() const { return c_.groups * panels_; }

  /// Transforms `channels` channels from `channel` on of a slice of the input tile first + `tile`.
  void transform(std::int64_t first, std::int64_t tile, std::int64_t slice, std::int64_t channel,
                 std::int64_t channels) const {
    const std::int64_t pitch = c_.groups * c_.in, at = first + tile;
    const WindowAxis &d = c_.window[0], &h = c_.window[1], &w = c_.window[2];
    const std::int64_t depth = d.position(grid_.image(at) % d.out, slice);
    const bool has_depth = depth >= 0 && depth < d.in;
    const float* image =
        operands_.x + (has_depth ? (grid_.image(at) / d.out * d.in + depth) * h.in * w.in * pitch + channel : 0);
    const std::int64_t top = grid_.line(at) - h.padding_before, left = grid_.column(at) - w.padding_before;
    static constexpr float kZeros[kChannelsOfPart + kWinogradFewestChannels] = {};
    const float* from[kElements];
    for (std::int64_t i = 0; i < kTransformed; ++i) {
      for (std::int64_t j = 0; j < kTransformed; ++j) {
        const std::int64_t r = top + i, s = left + j;
        const bool inside = has_depth && r >= 0 && r < h.in && s >= 0 && s < w.in;
        from[i * kTransformed + j] = inside ? image + (r * w.in + s) * pitch : kZeros;
      }
    }
    loops_.input(from, channels, transformed_ + tile * pitch_ + slice * pitch + channel, element_);
  }

  /// Computes the results of a panel of channels for `count` tiles from `first + begin` on. Returns false if a sum is
  /// not finite.
  bool multiply(std::int64_t first, std::int64_t begin, std::int64_t count, std::int64_t panel,
                std::int64_t* ready) const {
    const std::int64_t group = panel / panels_, column = panel % panels_ * micro_.columns,
                       channel = group * c_.out + column;
    const int columns = static_cast<int>(std::min<std::int64_t>(micro_.columns, c_.out - column));
    const std::int64_t depth = std::min(kDepth, c_.in), sums_of_element = kWinogradTogether * micro_.columns + kApart,
                       weight_of_element = depth * micro_.columns + kApart;
    auto* weight = thread_buffer<float>(static_cast<std::size_t>(kElements * weight_of_element), kWinogradWeightSlot);
    auto* sums = thread_buffer<float>(static_cast<std::size_t>(kElements * sums_of_element), kSumsSlot);
    const std::int64_t parts = divided_up(count, micro_.rows);
    for (std::int64_t k = 0; k < c_.in; k += depth) {
      const std::int64_t channels = std::min(depth, c_.in - k);
      // A weight of a single step is still transformed from the previous tiles.
      const bool transforms = *ready != panel || depth < c_.in || slices_ > 1;
      const float* panel_rows = transforms ? rows_of(panel, k, channels, columns) : nullptr;
      *ready = panel;
      for (std::int64_t slice = 0; slice < slices_; ++slice) {
        if (transforms) {
          const std::int64_t taps = kTaps * micro_.columns;
          loops_.weight(panel_rows + slice * taps, slices_ * taps, channels, weight, weight_of_element);
        }
        const float* tiles = transformed_ + begin * pitch_ + slice * c_.groups * c_.in + group * c_.in + k;
        const auto mode = k == 0 && slice == 0 ? strided_product::SumMode::stored : strided_product::SumMode::added;
        for (std::int64_t e = 0; e < kElements; ++e) {
          for (std::int64_t part = 0; part < parts; ++part) {
            const std::int64_t tile = part * count / parts, rows = (part + 1) * count / parts - tile;
            micro_.row_kernels[rows - 1](
                tiles + e * element_ + tile * pitch_, pitch_, 1, weight + e * weight_of_element, micro_.columns,
                channels, sums + e * sums_of_element + tile * micro_.columns, micro_.columns, micro_.columns, mode);
          }
        }
      }
    }
    return store(first + begin, count, channel, columns, sums, sums_of_element);
  }

 private:
  /// Returns rows of a packed panel.
  const float* rows_of(std::int64_t panel, std::int64_t k, std::int64_t channels, int columns) const {
    const std::int64_t taps = slices_ * kTaps;
    if (operands_.panels != nullptr) return operands_.panels + (panel * c_.in + k) * taps * micro_.columns;
    auto* packed = thread_buffer<float>(static_cast<std::size_t>(channels * taps * micro_.columns), kPackedSlot);
    const std::int64_t row = c_.in * taps, channel = panel / panels_ * c_.out + panel % panels_ * micro_.columns;
    micro_.pack(operands_.weight + channel * row + k * taps, 1, row, channels * taps, columns, packed);
    return packed;
  }

  bool store(std::int64_t first, std::int64_t count, std::int64_t channel, int columns, const float* sums,
             std::int64_t sums_of_element) const {
    const std::int64_t lines = c_.window[1].out, line = c_.window[2].out, position = c_.groups * c_.out;
    strided_product::RegisterEpilogue last = finish_in_registers(operands_, finish_, channel, columns);
    const float* add = last.add;
    float check = 0;
    for (std::int64_t i = 0; i < count;) {
      const std::int64_t tile = first + i, top = grid_.line(tile), left = grid_.column(tile);
      const std::int64_t together = std::min(count - i, (line - left + kTile - 1) / kTile);
      const std::int64_t start = ((grid_.image(tile) * lines + top) * line + left) * position + channel;
      const std::int64_t rows = std::min(std::int64_t{kTile}, lines - top),
                         positions = std::min(line - left, together * kTile);
      TileResults to{nullptr, line * position, position, static_cast<int>(rows), 0, columns, last};
      for (std::int64_t t = 0; t < together; ++t, ++i) {
        const std::int64_t result = start + t * kTile * position;
        to.y = operands_.y + result;
        to.finish.add = add == nullptr ? nullptr : add + result;
        to.columns = static_cast<int>(std::min(std::int64_t{kTile}, positions - t * kTile));
        check += loops_.output(sums + i * micro_.columns, sums_of_element, to);
      }
      if (!finish_) continue;
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t result = start + r * line * position;
        finish_.apply(operands_.y + result, position, positions, columns, result, position);
      }
    }
    return check == 0;
  }

  const ChannelsLastShape& c_;
  WinogradGrid grid_;
  const ChannelsLastOperands& operands_;
  const pointwise::BoundEpilogue& finish_;
  const WinogradLoops& loops_;
  const StridedMicroKernels& micro_;
  float* transformed_;
  std::int64_t slices_;           ///< slices of the kernel
  std::int64_t pitch_, element_;  ///< floats between tiles, and between elements
  std::int64_t panels_;
};

/// Returns the number of tiles transformed before each product.
std::int64_t tiles_at_once(const ChannelsLastShape& c) {
  const std::int64_t floats = kElements * floats_of_element(c), count = WinogradGrid(c).count;
  return divided_up(count, divided_up(count, std::max(kWinogradTogether, kFloats / floats)));
}

}  // namespace

bool Winograd::possible(const ChannelsLastShape& c) {
  const auto three = [](const WindowAxis& a) { return a.kernel == 3 && a.stride == 1 && a.dilation == 1; };
  return three(c.window[1]) && three(c.window[2]) && (c.window[0].kernel == 1 || c.groups == 1) &&
         c.in >= kWinogradFewestChannels && c.out >= kWinogradFewestChannels && !c.is_ordered;
}

bool Winograd::allowed() {
  static const bool on = platform::variable_is_on("TERN_WINOGRAD", true);
  return on;
}

/// The transforms of weights and images count by measured equivalents.
double Winograd::cost(const ChannelsLastShape& c) {
  constexpr double kOfWeight = 2.5, kOfImage = 6;
  const auto tiles = static_cast<double>(WinogradGrid(c).count), in = static_cast<double>(c.in * c.window[0].kernel),
             out = static_cast<double>(c.out), groups = static_cast<double>(c.groups);
  return kElements * groups * ((tiles + kOfWeight) * in * out + tiles * kOfImage * (in + out));
}

bool Winograd::suits(const ChannelsLastShape& c) {
  return allowed() && possible(c) && cost(c) < plain_cost(c);
}

Winograd::Winograd(const ChannelsLastShape& c) : c_(c) {}

std::size_t Winograd::scratch() const {
  return static_cast<std::size_t>(kElements * tiles_at_once(c_) * floats_of_element(c_)) * sizeof(float);
}

bool Winograd::run(const ChannelsLastOperands& at, const pointwise::BoundEpilogue& finish, std::byte* scratch) const {
  const std::int64_t count = WinogradGrid(c_).count, most = tiles_at_once(c_), threads = Threads::current().count(),
                     rows = strided_product::micro_kernels().rows;
  const Tiles tiles(c_, at, finish, reinterpret_cast<float*>(scratch), most);
  const std::int64_t channels = c_.groups * c_.in, parts = divided_up(channels, kChannelsOfPart),
                     slices = c_.window[0].kernel;
  std::atomic<bool> finite = true;
  for (std::int64_t first = 0; first < count; first += most) {
    const std::int64_t some = std::min(most, count - first);
    const std::int64_t pieces = some * slices * parts;
    parallel_for(pieces, grain_for(channels / parts * kElements), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t channel = i % parts * channels / parts, last = (i % parts + 1) * channels / parts,
                           slice = i / parts % slices;
        tiles.transform(first, i / parts / slices, slice, channel, last - channel);
      }
    });
    // Chooses the number of blocks of tiles so that panels times blocks divide evenly among threads.
    std::int64_t blocks = divided_up(some, kWinogradTogether);
    while (tiles.panels() * blocks % threads != 0 && some / (blocks + 1) >= rows) ++blocks;
    parallel_for(tiles.panels() * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t ready = -1;  // panel of the currently transformed weight
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t block = i % blocks * some / blocks, next = (i % blocks + 1) * some / blocks;
        if (!tiles.multiply(first, block, next - block, i / blocks, &ready)) finite = false;
      }
    });
  }
  return finite;
}

}  // namespace tern::channels_last
