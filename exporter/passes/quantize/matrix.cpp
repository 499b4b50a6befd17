#include "exporter/passes/quantize/matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

#include "dtypes/convert.h"
#include "exporter/passes/quantize/block_loops.h"
#include "exporter/passes/quantize/row.h"
#include "threads/parallel.h"

namespace tern::quantize {
namespace {

constexpr std::int64_t kTogether = 16;    // rows gathered at once
constexpr std::int64_t kGrain = 1 << 14;  // numbers for a thread

/// Reads rows of a matrix as bits of float32, in sequence.
class Reader {
 public:
  explicit Reader(const FloatMatrix& m) : m_(m) {}

  /// Row r of [begin, end), requested in order. Valid until the next call.
  const std::uint32_t* row(std::int64_t r, std::int64_t end) {
    if (m_.column_stride == 1) {
      const std::byte* const address = m_.data + m_.offset(r) * element_size(m_.type);
      if (m_.type == DType::f32) return reinterpret_cast<const std::uint32_t*>(address);
      numbers_.resize(static_cast<std::size_t>(m_.columns));
      convert(address, m_.type, numbers_.data(), DType::f32, m_.columns);
      return numbers_.data();
    }
    if (r < first_row_ || r >= last_row_) gather(r, std::min(end, r + kTogether));
    return numbers_.data() + (r - first_row_) * m_.columns;
  }

  /// Bytes of row r + 1 if they lie in order, or nothing.
  std::span<const std::byte> next_row(std::int64_t r, std::int64_t end) const {
    if (m_.column_stride != 1 || r + 1 >= end) return {};
    const std::int64_t size = element_size(m_.type);
    return {m_.data + m_.offset(r + 1) * size, static_cast<std::size_t>(m_.columns * size)};
  }

 private:
  void gather(std::int64_t begin, std::int64_t end) {
    first_row_ = begin;
    last_row_ = end;
    const std::int64_t count = (end - begin) * m_.columns;
    numbers_.resize(static_cast<std::size_t>(count));
    if (m_.type == DType::f32) return gather_as(numbers_.data());
    std::vector<std::uint16_t> codes(static_cast<std::size_t>(count));
    gather_as(codes.data());
    convert(codes.data(), m_.type, numbers_.data(), DType::f32, count);
  }

  template <class T>
  void gather_as(T* destination) const {
    const T* row_data[kTogether];
    for (std::int64_t r = 0; r < last_row_ - first_row_; ++r)
      row_data[r] = reinterpret_cast<const T*>(m_.data) + m_.offset(first_row_ + r);
    for (std::int64_t k = 0; k < m_.columns; ++k) {
      for (std::int64_t r = 0; r < last_row_ - first_row_; ++r)
        destination[r * m_.columns + k] = row_data[r][k * m_.column_stride];
    }
  }

  const FloatMatrix& m_;
  std::int64_t first_row_ = 0, last_row_ = 0;
  std::vector<std::uint32_t> numbers_;
};

/// NaN if any number is NaN.
float largest_magnitude(const FloatMatrix& m) {
  std::uint32_t largest = 0;
  std::mutex mutex;
  parallel_for(m.rows, std::max<std::int64_t>(1, kGrain / m.columns), [&](std::int64_t begin, std::int64_t end) {
    Reader reader(m);
    std::uint32_t thread_largest = 0;
    for (std::int64_t r = begin; r < end; ++r) {
      const std::uint32_t* const row = reader.row(r, end);
      run_at_cpu_level([&](auto) __attribute__((always_inline)) {
        thread_largest = std::max(thread_largest, largest_bits(row, m.columns));
      });
    }
    const std::lock_guard lock(mutex);
    largest = std::max(largest, thread_largest);
  });
  return std::bit_cast<float>(largest);
}

}  // namespace

std::vector<float> importance_factors(std::span<const float> importance, std::int64_t columns) {
  std::vector<float> factors(static_cast<std::size_t>(columns), 1.0F);
  double sum = 0;
  for (const float v : importance) sum += static_cast<double>(v);
  if (importance.size() != factors.size() || !(sum > 0) || !std::isfinite(sum)) return factors;
  const double mean = sum / static_cast<double>(columns);
  for (std::size_t i = 0; i < factors.size(); ++i)
    factors[i] = static_cast<float>(std::max(static_cast<double>(importance[i]) / mean, 1e-4));
  return factors;
}

void read_rows(const FloatMatrix& m, std::int64_t first, std::int64_t count, float* destination) {
  Reader reader(m);
  const auto bytes = static_cast<std::size_t>(m.columns) * sizeof(float);
  for (std::int64_t r = first; r < first + count; ++r, destination += m.columns)
    std::memcpy(destination, reader.row(r, first + count), bytes);
}

void encode_row(const WeightRow& row) {
  switch (row.recipe.format->scheme) {
    case Scheme::integers: return encode_integers(row);
    case Scheme::row_floats: return encode_row_floats(row);
    case Scheme::microscaling: return encode_microscaling(row);
    case Scheme::nvfp4: return encode_nvfp4(row);
  }
}

Quantized quantize(const FloatMatrix& m, const Recipe& recipe, std::span<const float> importance) {
  Quantized q{blocks_of(recipe, m.type, m.columns), {}, {}};
  const QuantizedMatrix layout{recipe.format->element, m.rows, m.columns, q.blocks};
  check_quantized(layout);
  q.bytes = RawBytes(static_cast<std::size_t>(layout.bytes()));
  // The bytes between the parts.
  const auto clear = [&](std::int64_t begin_byte, std::int64_t end_byte) {
    std::memset(q.bytes.data() + begin_byte, 0, static_cast<std::size_t>(end_byte - begin_byte));
  };
  clear(layout.element_bytes(), layout.scale_offset());
  clear(layout.zero_offset(), layout.bytes());
  float outer = 0;
  if (q.blocks.outer) {
    outer = nvfp4_outer(largest_magnitude(m));
    std::memcpy(q.bytes.data() + layout.outer_offset(), &outer, sizeof outer);
  }
  const std::vector<float> factors = importance_factors(importance, m.columns);
  const std::int64_t scale_bytes = layout.scales().columns * element_size(q.blocks.scale);
  std::mutex mutex;
  parallel_for(m.rows, std::max<std::int64_t>(1, kGrain / m.columns), [&](std::int64_t begin, std::int64_t end) {
    Reader reader(m);
    QuantizationError error;
    for (std::int64_t r = begin; r < end; ++r) {
      encode_row({.numbers = reader.row(r, end),
                  .columns = m.columns,
                  .type = m.type,
                  .recipe = recipe,
                  .importance = factors.data(),
                  .outer = outer,
                  .elements = q.bytes.data() + r * layout.row_bytes(),
                  .scales = q.bytes.data() + layout.scale_offset() + r * scale_bytes,
                  .error = &error,
                  .next = reader.next_row(r, end)});
    }
    const std::lock_guard lock(mutex);
    q.error.add(error);
  });
  return q;
}

}  // namespace tern::quantize
