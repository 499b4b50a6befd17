#include "kernels/cpu/products/int8/driver.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/products/int8/row_pack.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::int8 {
namespace {

std::int64_t round_up(std::int64_t n, std::int64_t to) {
  return (n + to - 1) / to * to;
}

tiles::RowLayout layout_of(const Method& method, std::int64_t steps) {
  constexpr std::int64_t kLine = 64;  // padding of a row: rows a power of two apart share few lines of the first cache
  const std::int64_t row = steps * kStep + kLine;
  return method.tiles ? tiles::RowLayout{steps * tiles::kTileBytes, kStep, tiles::kTileBytes}
                      : tiles::RowLayout{kTile * row, row, kStep};
}

}  // namespace

void add_groups(std::int64_t k, std::vector<std::uint8_t>& groups) {
  for (std::int64_t i = 0; i < k; i += kStep)
    groups.push_back(static_cast<std::uint8_t>((std::min(kStep, k - i) + kGroup - 1) / kGroup));
}

void add_offsets(const Signs& signs, const std::int32_t* bias, const std::int32_t* sums, std::int64_t n,
                 std::int32_t* to) {
  // Rows with a sign were multiplied 128 larger, those without 128 smaller. Both wrap around.
  const std::uint32_t shift = static_cast<std::uint32_t>(signs.x ? -kShift : kShift);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t start = bias == nullptr ? 0 : static_cast<std::uint32_t>(bias[i]);
    to[i] = static_cast<std::int32_t>(start + shift * static_cast<std::uint32_t>(sums[i]));
  }
}

Int8Linear::Int8Linear(const Int8LinearShape& shape, const Method& method)
    : shape_(shape),
      method_(&method),
      weight_(method, shape.n, steps_of(shape.k)),
      division_({.m = shape.m,
                 .n = shape.n,
                 .k = shape.k,
                 .steps = steps_of(shape.k),
                 .step_cycles = method.step_cycles,
                 .read_bytes = tiles::kTileBytes}),
      layout_(layout_of(method, steps_of(shape.k))) {
  for (std::int64_t s = 0; s < weight_.steps(); ++s) steps_.push_back(s * layout_.step);
  add_groups(shape.k, groups_);
}

void Int8Linear::pack(const WeightView& weight, std::byte* to) const {
  const PackedStretch all[] = {{0, shape_.k, 1}};
  parallel_for(weight_.blocks(), grain_for(kBlock * shape_.k), [&](std::int64_t begin, std::int64_t end) {
    weight_.pack(weight, shape_.signs.weight, all, {begin, end}, to,
                 reinterpret_cast<std::int32_t*>(to + weight_.bytes()));
  });
}

std::size_t Int8Linear::scratch() const {
  return static_cast<std::size_t>(round_up(layout_.bytes(division_.shared_rows()), 64) + weight_.blocks() * kBlock * 4);
}

const std::int32_t* Int8Linear::offsets(const Int8LinearOperands& o, std::int32_t* to) const {
  if (!flips()) return o.bias;
  add_offsets(shape_.signs, o.bias, reinterpret_cast<const std::int32_t*>(o.weight + weight_.bytes()), shape_.n, to);
  return to;
}

void Int8Linear::pack_rows(const std::byte* x, std::int64_t x_row, IndexRange rows, std::byte* to) const {
  for (std::int64_t r = rows.begin; r < rows.end; ++r, x += x_row) {
    if (method_->tiles) {
      copy_row(x, shape_.k, r, layout_, flips(), to);
    } else {
      copy_bytes(x, shape_.k, flips(), to + r * layout_.row);
    }
  }
}

void Int8Linear::run(const Int8LinearOperands& o, std::byte* scratch) const {
  const bool in_place = !method_->tiles && !flips() && shape_.k % kGroup == 0;
  auto* const packed = scratch + round_up(weight_.blocks() * kBlock * 4, 64);
  const std::int32_t* const offset = offsets(o, reinterpret_cast<std::int32_t*>(scratch));
  std::vector<std::int64_t> own_steps;
  if (in_place) {
    for (std::int64_t s = 0; s < weight_.steps(); ++s) own_steps.push_back(s * kStep);
  }
  const tiles::RowLayout layout = in_place ? tiles::RowLayout{kTile * o.x_row, o.x_row, kStep} : layout_;
  const Task task{{shape_.signs.x != flips(), shape_.signs.weight}, o.stores_sums};
  division_.run(
      !in_place, layout.tile, packed,
      [&](std::int64_t first, IndexRange rows, std::byte* to) {
        pack_rows(o.x + (first + rows.begin) * o.x_row, o.x_row, rows, to);
      },
      [&](const tiles::RowDivision::Share& share, const std::byte* rows) {
        const std::byte* operand = rows == nullptr ? o.x + share.first * o.x_row : rows;
        const RowResults results{.y = o.y,
                                 .ld = shape_.n,
                                 .columns = shape_.n,
                                 .first = o.first + share.first + share.begin,
                                 .offsets = offset,
                                 .finish = o.finish};
        method_->multiply({operand + share.units.begin * layout.tile, share.count, layout.tile, layout.row,
                           in_place ? own_steps : steps_, groups_},
                          o.weight, share.blocks, results, task);
      });
}

}  // namespace tern::int8
