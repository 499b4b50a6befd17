#include "kernels/cpu/products/tiles/row_driver.h"

#include <atomic>

#include "kernels/cpu/products/block_quantized/driver.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::tiles {
namespace {

constexpr std::size_t kRowDriverNumbersSlot = 3, kPackedSlot = 2;

}  // namespace

bool RowLinear::suits(const TileLinearShape& s) {
  return fills_blocks(s);
}

RowLinear::RowLinear(const TileLinearShape& shape, bool quantized)
    : shape_(shape),
      division_({.m = shape.m,
                 .n = shape.n,
                 .k = shape.k,
                 .steps = steps_of(shape.k),
                 .step_cycles = step_cycles(),
                 .read_bytes = 2 * kTileBytes}),
      steps_(shape.k, best_layout(shape.k)) {
  if (quantized) division_.divide_columns();
  const std::int64_t x_row = shape.x_row * 2;
  unpacked_steps_ = {shape.k, {kTile * x_row, x_row, kStep * 2}};
}

void RowLinear::pack(Elements weight, std::byte* to) const {
  const std::int64_t block = packed_weight_bytes(kBlock, steps_of(shape_.k));
  parallel_for(blocks_of(shape_.n), grain_for(kBlock * shape_.k), [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = begin * kBlock;
    pack_weight(weight.offset_by(first * shape_.w_row), shape_.w_row, std::min(shape_.n, end * kBlock) - first,
                shape_.k, to + begin * block);
  });
}

void RowLinear::pack_columns(Elements weight, std::byte* to) const {
  const std::int64_t block = packed_weight_bytes(kBlock, steps_of(shape_.k));
  parallel_for(blocks_of(shape_.n), grain_for(kBlock * shape_.k), [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = begin * kBlock;
    tiles::pack_columns(weight.offset_by(first), shape_.w_row, shape_.k, std::min(shape_.n, end * kBlock) - first,
                        to + begin * block);
  });
}

void RowLinear::unpack(const std::byte* packed, float* to) const {
  for (std::int64_t n = 0; n < shape_.n; ++n) {
    for (std::int64_t k = 0; k < shape_.k; ++k) *to++ = packed_element(packed, steps_of(shape_.k), n, k);
  }
}

std::size_t RowLinear::scratch() const {
  return static_cast<std::size_t>(steps_.layout().bytes(division_.shared_rows()));
}

/// Multiplies rows by a block after the other, whose numbers are rounded and packed for that long.
bool RowLinear::multiply_quantized(const RowLinearOperands& o, const TileRows& rows, IndexRange blocks,
                                   const RowResults& results) const {
  auto* numbers = thread_buffer<float>(static_cast<std::size_t>(kBlock * shape_.k), kRowDriverNumbersSlot);
  auto* packed =
      thread_buffer<std::byte>(static_cast<std::size_t>(packed_weight_bytes(kBlock, steps_of(shape_.k))), kPackedSlot);
  bool finite = true;
  for (std::int64_t b = blocks.begin; b < blocks.end; ++b) {
    const std::int64_t first = b * kBlock, count = std::min(kBlock, shape_.n - first);
    for (std::int64_t r = 0; r < count; ++r)
      block_quantized::numbers_of_row(*o.quantized, o.weight, first + r, 0, shape_.k, numbers + r * shape_.k);
    pack_weight({reinterpret_cast<const std::byte*>(numbers), false}, shape_.k, count, shape_.k, packed);
    RowResults part = results;
    part.columns = count;
    part.offset = first;
    if (part.bias != nullptr) part.bias += first;
    finite = multiply_rows(rows, packed, {0, 1}, part) && finite;
  }
  return finite;
}

bool RowLinear::run(const RowLinearOperands& o, std::byte* scratch) const {
  const bool in_place = o.x.narrow && shape_.k % kStep == 0 && reads_in_place();
  const RowSteps& steps = in_place ? unpacked_steps_ : steps_;
  const std::int64_t tile = steps.layout().tile;
  std::atomic<bool> finite = true;
  division_.run(
      !in_place, tile, scratch,
      [&](std::int64_t first, IndexRange rows, std::byte* to) {
        pack_rows(o.x.offset_by((first + rows.begin) * shape_.x_row), shape_.x_row, rows, shape_.k, steps.layout(), to);
      },
      [&](const RowDivision::Share& share, const std::byte* packed) {
        const std::byte* operand = packed == nullptr ? o.x.offset_by(share.first * shape_.x_row).data : packed;
        const RowResults results{.y = o.y,
                                 .narrow = o.narrow,
                                 .ld = shape_.n,
                                 .columns = shape_.n,
                                 .first = o.first_row + share.first + share.begin,
                                 .bias = o.bias,
                                 .finish = o.finish};
        const TileRows rows = steps.rows(operand + share.units.begin * tile, share.count);
        const bool good = o.quantized == nullptr ? multiply_rows(rows, o.weight, share.blocks, results)
                                                 : multiply_quantized(o, rows, share.blocks, results);
        if (!good) finite.store(false, std::memory_order_relaxed);
      });
  return finite;
}

}  // namespace tern::tiles
