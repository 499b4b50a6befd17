#include "kernels/cpu/products/int8/driver.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/products/int8/row_pack.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::integer {
namespace {

constexpr std::int64_t kMostBytes = 5 << 18;  // of rows that are packed at once: they stay in the second cache
constexpr std::int64_t kMostRows = 256;
constexpr std::size_t kRowsSlot = 7;
constexpr std::int64_t kFewShare = 2;  // threads: to pack for each of them takes no longer than to wait for the others

std::int64_t up(std::int64_t n, std::int64_t to) {
  return (n + to - 1) / to * to;
}

amx::RowLayout layout_of(const Method& method, std::int64_t steps) {
  constexpr std::int64_t kLine = 64;  // behind a row: rows a power of two apart share few lines of the first cache
  const std::int64_t row = steps * kStep + kLine;
  return method.tiles ? amx::RowLayout{steps * amx::kTileBytes, kStep, amx::kTileBytes}
                      : amx::RowLayout{kTile * row, row, kStep};
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

Linear::Linear(const LinearShape& shape, const Method& method)
    : shape_(shape),
      method_(&method),
      weight_(method, shape.n, steps_of(shape.k)),
      layout_(layout_of(method, steps_of(shape.k))) {
  const std::int64_t steps = weight_.steps(),
                     most = std::clamp(kMostBytes / std::max<std::int64_t>(steps * kStep, 1) / kBlock * kBlock, kBlock,
                                       kMostRows),
                     panels = (shape.m + most - 1) / most;
  at_a_time_ = std::min(up((shape.m + panels - 1) / panels, kBlock), up(shape.m, kTile));
  const auto deep = static_cast<double>(steps);
  division_ = amx::divide({at_a_time_ / kTile, weight_.blocks(), deep * method.step_cycles, deep * amx::kTileBytes,
                           deep * amx::kTileBytes * 2},
                          Threads::current().count());
  alone_ = division_.columns <= kFewShare;
  for (std::int64_t s = 0; s < steps; ++s) steps_.push_back(s * layout_.step);
  add_groups(shape.k, groups_);
}

void Linear::pack(const WeightView& weight, std::byte* to) const {
  const PackedStretch all[] = {{0, shape_.k, 1}};
  parallel_for(weight_.blocks(), grain_for(kBlock * shape_.k), [&](std::int64_t begin, std::int64_t end) {
    weight_.pack(weight, shape_.signs.weight, all, {begin, end}, to,
                 reinterpret_cast<std::int32_t*>(to + weight_.bytes()));
  });
}

std::size_t Linear::scratch() const {
  const std::int64_t rows = alone_ ? 0 : layout_.bytes(at_a_time_);
  return static_cast<std::size_t>(up(rows, 64) + weight_.blocks() * kBlock * 4);
}

const std::int32_t* Linear::offsets(const LinearOperands& o, std::int32_t* to) const {
  if (!flips()) return o.bias;
  add_offsets(shape_.signs, o.bias, reinterpret_cast<const std::int32_t*>(o.weight + weight_.bytes()), shape_.n, to);
  return to;
}

void Linear::pack_rows(const std::byte* x, std::int64_t x_row, Range rows, std::byte* to) const {
  for (std::int64_t r = rows.begin; r < rows.end; ++r, x += x_row) {
    if (method_->tiles) {
      copy_row(x, shape_.k, r, layout_, flips(), to);
    } else {
      copy_bytes(x, shape_.k, flips(), to + r * layout_.row);
    }
  }
}

void Linear::run(const LinearOperands& o, std::byte* scratch) const {
  const bool in_place = !method_->tiles && !flips() && shape_.k % kGroup == 0;
  auto* const packed = scratch + up(weight_.blocks() * kBlock * 4, 64);
  const std::int32_t* const offset = offsets(o, reinterpret_cast<std::int32_t*>(scratch));
  std::vector<std::int64_t> own_steps;
  if (in_place) {
    for (std::int64_t s = 0; s < weight_.steps(); ++s) own_steps.push_back(s * kStep);
  }
  const amx::RowLayout layout = in_place ? amx::RowLayout{kTile * o.x_row, o.x_row, kStep} : layout_;
  const Task task{{shape_.signs.x != flips(), shape_.signs.weight}, o.keeps};
  for (std::int64_t m = 0; m < shape_.m; m += at_a_time_) {
    const std::int64_t count = std::min(at_a_time_, shape_.m - m), tiles = (count + kTile - 1) / kTile;
    const auto pack = [&](Range of, std::byte* to) {
      pack_rows(o.x + (m + of.begin * kTile) * o.x_row, o.x_row, {of.begin * kTile, std::min(count, of.end * kTile)},
                to);
    };
    if (!in_place && !alone_) {
      parallel_for(tiles, grain_for(kTile * shape_.k), [&](std::int64_t begin, std::int64_t end) {
        pack({begin, end}, packed);
      });
    }
    parallel_for(division_.parts(), 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const Range rows = amx::part_of(tiles, division_.rows, i / division_.columns),
                    columns = amx::part_of(weight_.blocks(), division_.columns, i % division_.columns);
        if (rows.begin >= rows.end || columns.begin >= columns.end) continue;
        const std::byte* operand = in_place ? o.x + m * o.x_row : packed;
        if (!in_place && alone_) {
          auto* own = thread_buffer<std::byte>(static_cast<std::size_t>(tiles * layout_.tile), kRowsSlot);
          pack(rows, own);
          operand = own;
        }
        const std::int64_t row = rows.begin * kTile;
        const RowResults results{.y = o.y,
                                 .ld = shape_.n,
                                 .columns = shape_.n,
                                 .first = o.first + m + row,
                                 .offsets = offset,
                                 .finish = o.finish};
        method_->multiply({operand + rows.begin * layout.tile, std::min(count, rows.end * kTile) - row, layout.tile,
                           layout.row, in_place ? own_steps : steps_, groups_},
                          o.weight, columns, results, task);
      }
    });
  }
}

}  // namespace tern::integer
