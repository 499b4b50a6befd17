#include "kernels/cpu/products/tiles/rounded_keys.h"

#include <algorithm>

#include "kernels/cpu/scratch.h"

namespace tern::tiles {
namespace {

constexpr std::size_t kKeysSlot = 7, kRowsSlot = 5;
constexpr std::int64_t kWorthAHead = 1 << 15;  // products of one head
constexpr std::int64_t kRows = 64;             // rows packed at a time: they stay in the first cache

/// y [rows, columns] = x [rows, k] by a packed weight, some rows at a time.
bool multiply(const float* x, std::int64_t row, std::int64_t rows, std::int64_t k, const std::byte* weight,
              const RowSteps& steps, RowResults results) {
  auto* packed = thread_buffer<std::byte>(static_cast<std::size_t>(steps.layout().bytes(kRows)), kRowsSlot);
  bool finite = true;
  for (std::int64_t r = 0; r < rows; r += kRows) {
    const std::int64_t count = std::min(kRows, rows - r);
    pack_rows({reinterpret_cast<const std::byte*>(x + r * row)}, row, {0, count}, k, steps.layout(), packed);
    results.first = r;
    finite = multiply_rows(steps.rows(packed, count), weight, {0, blocks_of(results.columns)}, results) && finite;
  }
  return finite;
}

}  // namespace

bool RoundedKeys::suits(std::int64_t queries, std::int64_t keys, std::int64_t width, std::int64_t out_width) {
  return queries > 8 && keys >= kTile && width >= kTile && out_width >= kTile && queries * keys * width >= kWorthAHead;
}

RoundedKeys::RoundedKeys(std::int64_t keys, std::int64_t width, std::int64_t out_width)
    : width_(width), out_width_(out_width) {
  const std::int64_t of_keys = packed_weight_bytes(keys, steps_of(width)),
                     of_values = packed_weight_bytes(out_width, steps_of(keys));
  keys_ = thread_buffer<std::byte>(static_cast<std::size_t>(of_keys + of_values), kKeysSlot);
  values_ = keys_ + of_keys;
}

bool RoundedKeys::pack(Elements keys, std::int64_t key_row, Elements values, std::int64_t value_row, std::int64_t n) {
  if (n != n_) {
    key_steps_ = {width_, best_layout(width_)};
    value_steps_ = {n, best_layout(n)};
  }
  n_ = n;
  pack_weight(keys, key_row, n, width_, keys_);
  return pack_columns(values, value_row, n, out_width_, values_);
}

bool RoundedKeys::scores(const float* q, std::int64_t row, std::int64_t rows, float* to) {
  return multiply(q, row, rows, width_, keys_, key_steps_,
                  {.y = reinterpret_cast<std::byte*>(to), .ld = n_, .columns = n_});
}

void RoundedKeys::add_values(const float* weights, std::int64_t rows, float* sums) {
  multiply(weights, n_, rows, n_, values_, value_steps_,
           {.y = reinterpret_cast<std::byte*>(sums), .accumulate = true, .ld = out_width_, .columns = out_width_});
}

}  // namespace tern::tiles
