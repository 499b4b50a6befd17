#include "exporter/quantize/matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

#include "dtypes/convert.h"
#include "exporter/quantize/block_loops.h"
#include "exporter/quantize/row.h"
#include "threads/parallel.h"

namespace tern::quantize {
namespace {

constexpr std::int64_t kTogether = 16;    // rows that are gathered at once
constexpr std::int64_t kGrain = 1 << 14;  // numbers for a thread

/// Rows of a matrix as float32, one after another.
class Reader {
 public:
  explicit Reader(const FloatMatrix& m) : m_(m) {}

  /// Row r of [begin, end), which is read in order. Valid until the next call.
  const float* row(std::int64_t r, std::int64_t end) {
    if (m_.column_stride == 1) {
      const std::byte* const at = m_.at + m_.offset(r) * element_size(m_.type);
      if (m_.type == DType::f32) return reinterpret_cast<const float*>(at);
      numbers_.resize(static_cast<std::size_t>(m_.columns));
      convert(at, m_.type, numbers_.data(), DType::f32, m_.columns);
      return numbers_.data();
    }
    if (r < first_ || r >= last_) gather(r, std::min(end, r + kTogether));
    return numbers_.data() + (r - first_) * m_.columns;
  }

  /// Where row r + 1 lies in order, or nothing.
  std::span<const std::byte> after(std::int64_t r, std::int64_t end) const {
    if (m_.column_stride != 1 || r + 1 >= end) return {};
    const std::int64_t size = element_size(m_.type);
    return {m_.at + m_.offset(r + 1) * size, static_cast<std::size_t>(m_.columns * size)};
  }

 private:
  void gather(std::int64_t begin, std::int64_t end) {
    first_ = begin;
    last_ = end;
    const auto count = static_cast<std::size_t>((end - begin) * m_.columns);
    numbers_.resize(count);
    if (element_size(m_.type) == 4) return gather_as<float>(numbers_.data());
    std::vector<std::uint16_t> codes(count);
    gather_as<std::uint16_t>(codes.data());
    convert(codes.data(), m_.type, numbers_.data(), DType::f32, static_cast<std::int64_t>(count));
  }

  template <class T>
  void gather_as(T* to) const {
    const T* from[kTogether];
    for (std::int64_t r = 0; r < last_ - first_; ++r)
      from[r] = reinterpret_cast<const T*>(m_.at) + m_.offset(first_ + r);
    for (std::int64_t k = 0; k < m_.columns; ++k) {
      for (std::int64_t r = 0; r < last_ - first_; ++r) to[r * m_.columns + k] = from[r][k * m_.column_stride];
    }
  }

  const FloatMatrix& m_;
  std::int64_t first_ = 0, last_ = 0;
  std::vector<float> numbers_;
};

/// The largest magnitude; NaN where there is one.
float largest_of(const FloatMatrix& m) {
  std::uint32_t largest = 0;
  std::mutex mutex;
  parallel_for(m.rows, std::max<std::int64_t>(1, kGrain / m.columns), [&](std::int64_t begin, std::int64_t end) {
    Reader reader(m);
    std::uint32_t own = 0;
    for (std::int64_t r = begin; r < end; ++r) {
      const float* const row = reader.row(r, end);
      at_cpu_level([&]() __attribute__((always_inline)) { own = std::max(own, largest_bits(row, m.columns)); });
    }
    const std::lock_guard lock(mutex);
    largest = std::max(largest, own);
  });
  return std::bit_cast<float>(largest);
}

void encode(const Row& row) {
  switch (row.recipe.format->scheme) {
    case Scheme::integers: return encode_integers(row);
    case Scheme::row_floats: return encode_row_floats(row);
    case Scheme::microscaling: return encode_microscaling(row);
    case Scheme::nvfp4: return encode_nvfp4(row);
  }
}

}  // namespace

Quantized quantize(const FloatMatrix& m, const Recipe& recipe) {
  Quantized q{blocks_of(recipe, m.type, m.columns), {}, {}};
  const QuantizedMatrix layout{recipe.format->element, m.rows, m.columns, q.blocks};
  check_quantized(layout);
  q.bytes = RawBytes(static_cast<std::size_t>(layout.bytes()));
  // What lies between the parts.
  const auto clear = [&](std::int64_t from, std::int64_t to) {
    std::memset(q.bytes.data() + from, 0, static_cast<std::size_t>(to - from));
  };
  clear(layout.element_bytes(), layout.scale_offset());
  clear(layout.zero_offset(), layout.bytes());
  float outer = 0;
  if (q.blocks.outer) {
    outer = nvfp4_outer(largest_of(m));
    std::memcpy(q.bytes.data() + layout.outer_offset(), &outer, sizeof outer);
  }
  const std::int64_t scale_bytes = layout.scales().columns * element_size(q.blocks.scale);
  std::mutex mutex;
  parallel_for(m.rows, std::max<std::int64_t>(1, kGrain / m.columns), [&](std::int64_t begin, std::int64_t end) {
    Reader reader(m);
    std::vector<float> back(static_cast<std::size_t>(m.columns));
    Error error;
    for (std::int64_t r = begin; r < end; ++r) {
      const float* const numbers = reader.row(r, end);
      encode({numbers, m.columns, m.type, recipe, outer, q.bytes.data() + r * layout.row_bytes(),
              q.bytes.data() + layout.scale_offset() + r * scale_bytes, back.data(), reader.after(r, end)});
      error.add(error_of(numbers, back.data(), m.columns));
    }
    const std::lock_guard lock(mutex);
    q.error.add(error);
  });
  return q;
}

}  // namespace tern::quantize
