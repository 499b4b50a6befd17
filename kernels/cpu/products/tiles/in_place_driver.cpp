#include "kernels/cpu/products/tiles/in_place_driver.h"

#include <atomic>

namespace tern::tiles {

bool InPlaceLinear::suits(const TileLinearShape& s) {
  return available() && fills_blocks(s);
}

InPlaceLinear::InPlaceLinear(const TileLinearShape& shape)
    : shape_(shape),
      division_({.m = shape.m,
                 .n = shape.n,
                 .k = shape.k,
                 .steps = steps_of(shape.k),
                 .unit = kBlock,
                 .step_cycles = step_cycles(),
                 .read_bytes = kTileBytes}) {}

std::size_t InPlaceLinear::scratch() const {
  return static_cast<std::size_t>(packed_weight_bytes(division_.shared_rows(), steps_of(shape_.k)));
}

bool InPlaceLinear::run(const InPlaceOperands& o, std::byte* scratch) const {
  static const auto multiply = best_level(multiply_in_place_levels);
  std::atomic<bool> finite = true;
  const std::int64_t pair = packed_weight_bytes(kBlock, steps_of(shape_.k));
  const WeightRows weight{o.weight, shape_.w_row * 2, shape_.n, shape_.k};
  division_.run(
      true, pair, scratch,
      [&](std::int64_t first, IndexRange rows, std::byte* to) {
        pack_weight(o.x.offset_by((first + rows.begin) * shape_.x_row), shape_.x_row, rows.end - rows.begin, shape_.k,
                    to + rows.begin / kBlock * pair);
      },
      [&](const RowDivision::Share& share, const std::byte* packed) {
        const RowResults results{.y = o.y,
                                 .narrow = o.narrow,
                                 .ld = shape_.n,
                                 .columns = shape_.n,
                                 .first = share.first + share.begin,
                                 .bias = o.bias,
                                 .finish = o.finish};
        bool good = true;
        multiply(weight, share.blocks, packed + share.units.begin * pair, share.count, results, &good);
        if (!good) finite.store(false, std::memory_order_relaxed);
      });
  return finite;
}

}  // namespace tern::tiles
