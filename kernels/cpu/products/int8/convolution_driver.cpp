#include "kernels/cpu/products/int8/convolution_driver.h"

#include <algorithm>

#include "kernels/cpu/dense.h"
#include "kernels/cpu/products/int8/driver.h"
#include "kernels/cpu/products/int8/row_pack.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::int8 {
namespace {

tiles::RowFormat format_of(const ConvolutionShape& s, const Method& method) {
  const int fill = method.flips(s.signs) ? s.fill ^ kFlip : s.fill;
  return {.element = 1, .tiles = method.tiles, .step_cycles = method.step_cycles, .fill = fill & 0xff};
}

class ByteImage : public tiles::RowImage {
 public:
  ByteImage(const std::byte* x, bool flips) : x_(x), flips_(flips) {}
  void line(std::int64_t first, std::int64_t count, std::byte* to) const override {
    copy_bytes(x_ + first, count, flips_, to);
  }
  void tiles(std::int64_t first, std::int64_t row_stride, IndexRange rows, std::int64_t k,
             const tiles::RowLayout& layout, std::byte* to) const override {
    const std::byte* source = x_ + first;
    for (std::int64_t r = rows.begin; r < rows.end; ++r, source += row_stride)
      copy_row(source, k, r, layout, flips_, to);
  }
  const std::byte* element(std::int64_t first) const override { return x_ + first; }

 private:
  const std::byte* x_;
  bool flips_;
};

}  // namespace

Int8Convolution::Int8Convolution(const ConvolutionShape& shape, const Method& method)
    : signs_(shape.signs),
      method_(&method),
      loop_(shape.sizes, format_of(shape, method)),
      weight_(method, shape.sizes.out, loop_.steps()) {}

std::int64_t Int8Convolution::packed_bytes() const {
  return loop_.shape().groups * (weight_.bytes() + weight_.blocks() * kBlock * 4);
}

void Int8Convolution::pack(const std::byte* weight, std::byte* to) const {
  const tiles::TileConvolutionShape& s = loop_.shape();
  const std::int64_t taps = s.window[1].kernel * s.window[2].kernel, row_size = loop_.steps() * kStep,
                     filter_size = s.in * taps, blocks = weight_.blocks();
  auto* const column_sums = reinterpret_cast<std::int32_t*>(to + s.groups * weight_.bytes());
  const PackedStretch whole_row[] = {{0, row_size, 1}};
  parallel_for(s.groups * blocks, grain_for(kBlock * row_size), [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::byte> packed_rows(static_cast<std::size_t>(kBlock * row_size));
    for (std::int64_t b = begin; b < end; ++b) {
      const std::int64_t group = b / blocks, first_channel = b % blocks * kBlock,
                         count = std::min(kBlock, s.out - first_channel);
      const std::byte* filters = weight + (group * s.out + first_channel) * filter_size;
      std::ranges::fill(packed_rows, std::byte{0});
      loop_.for_each_element([&](std::int64_t packed, std::int64_t exported) {
        for (std::int64_t channel = 0; channel < count; ++channel)
          packed_rows[static_cast<std::size_t>(channel * row_size + packed)] =
              filters[channel * filter_size + exported];
      });
      // Packs the block like a weight of a single block.
      weight_.pack({packed_rows.data(), count, row_size, row_size, 1}, signs_.weight, whole_row, {0, 1},
                   to + group * weight_.bytes() + b % blocks * (weight_.bytes() / blocks), column_sums + b * kBlock);
    }
  });
}

std::size_t Int8Convolution::scratch() const {
  return aligned(loop_.scratch()) + static_cast<std::size_t>(channels()) * 4;
}

void Int8Convolution::run(const Int8ConvolutionOperands& o, std::byte* scratch) const {
  const tiles::TileConvolutionShape& s = loop_.shape();
  RowResults results{.y = o.y, .offsets = o.bias, .finish = o.finish};
  if (flips()) {
    auto* const offsets = reinterpret_cast<std::int32_t*>(scratch + aligned(loop_.scratch()));
    const auto* const column_sums = reinterpret_cast<const std::int32_t*>(o.weight + s.groups * weight_.bytes());
    for (std::int64_t g = 0; g < s.groups; ++g)
      add_offsets(signs_, o.bias == nullptr ? nullptr : o.bias + g * s.out, column_sums + g * weight_.blocks() * kBlock,
                  s.out, offsets + g * s.out);
    results.offsets = offsets;
  }
  const Task task{{signs_.x != flips(), signs_.weight}, o.stores_sums};
  loop_.run(
      ByteImage(o.x, flips()), !flips(), o.weight, results,
      [&](const TileRows& rows, const std::byte* weight, IndexRange blocks, const RowResults& r) {
        method_->multiply(rows, weight, blocks, r, task);
        return true;
      },
      scratch);
}

}  // namespace tern::int8
