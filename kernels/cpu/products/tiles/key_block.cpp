#include "kernels/cpu/products/tiles/key_block.h"

#include <algorithm>

#include "kernels/cpu/scratch.h"

namespace tern::tiles {
namespace {

constexpr std::size_t kSlot = 7;

}  // namespace

bool KeyBlock::suits(std::int64_t queries, std::int64_t keys, std::int64_t width, std::int64_t out_width) {
  return available() && RoundedKeys::suits(queries, keys, width, out_width);
}

KeyBlock::KeyBlock(std::int64_t keys, std::int64_t width, std::int64_t out_width, int parts)
    : width_(width), out_width_(out_width), part_count_(parts) {
  if (parts == kRounded) {
    rounded_.emplace(keys, width, out_width);
    return;
  }
  const std::int64_t of_keys = tiles_of(keys) * steps_of(width) * panel_step(part_count_),
                     of_values = tiles_of(out_width) * steps_of(keys) * panel_step(part_count_);
  keys_.data = thread_buffer<std::byte>(static_cast<std::size_t>(of_keys + of_values), kSlot);
  values_.data = keys_.data + of_keys;
}

void KeyBlock::Side::resize(std::int64_t columns, std::int64_t k, int of) {
  steps = panel_steps(k, of);
  tiles.resize(static_cast<std::size_t>(tiles_of(columns)));
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    const std::int64_t to = static_cast<std::int64_t>(t) * kTile, count = std::min(kTile, columns - to);
    tiles[t] = {static_cast<std::uint16_t>((1u << count) - 1), static_cast<std::int32_t>(count), to};
  }
}

bool KeyBlock::split(const TensorView& keys, const TensorView& values, std::int64_t n) {
  if (rounded_)
    return rounded_->pack(Elements::from_tensor(keys), keys.stride(0), Elements::from_tensor(values), values.stride(0),
                          n);
  if (keys.dtype != DType::f32 || values.dtype != DType::f32) return false;
  n_ = n;
  keys_.resize(n, width_, part_count_);
  values_.resize(out_width_, n, part_count_);
  for (std::int64_t i = 0; i < n; i += kTile) {
    split_columns(keys.data_as<const float>() + i * keys.stride(0), keys.stride(0), std::min(kTile, n - i), width_,
                  part_count_, keys_.data + i / kTile * steps_of(width_) * panel_step(part_count_));
  }
  return split_rows(values.data_as<const float>(), values.stride(0), n, out_width_, part_count_, values_.data);
}

bool KeyBlock::scores(const float* q, std::int64_t row, std::int64_t rows, float* to) {
  if (rounded_) return rounded_->scores(q, row, rows, to);
  std::atomic<bool> finite = true;
  const PlainSink::Target target{to, n_, rows};
  PlainSink sink(target, keys_.tiles, finite);
  multiply(row_major(q, rows, width_, row), panels(keys_.data, keys_.steps, part_count_), {0, blocks_of(rows)},
           {0, static_cast<std::int64_t>(keys_.tiles.size())}, sink);
  return finite;
}

void KeyBlock::add_values(const float* weights, std::int64_t rows, float* sums) {
  if (rounded_) return rounded_->add_values(weights, rows, sums);
  std::atomic<bool> finite = true;
  PlainSink::Target target{sums, out_width_, rows};
  target.accumulate = true;
  PlainSink sink(target, values_.tiles, finite);
  multiply(row_major(weights, rows, n_, n_), panels(values_.data, values_.steps, part_count_), {0, blocks_of(rows)},
           {0, static_cast<std::int64_t>(values_.tiles.size())}, sink);
}

}  // namespace tern::tiles
