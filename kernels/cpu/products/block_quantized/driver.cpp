#include "kernels/cpu/products/block_quantized/driver.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/products/block_quantized/byte_microkernel.h"
#include "kernels/cpu/products/block_quantized/microkernel.h"
#include "kernels/cpu/products/block_quantized/nibble_microkernel.h"
#include "kernels/cpu/products/block_quantized/sparse_microkernel.h"
#include "kernels/cpu/products/float32/in_place_driver.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::block_quantized {
namespace {

constexpr std::size_t kXSlot = 7, kSumsSlot = 1, kRowScalesSlot = 2, kRowZerosSlot = 3, kNumbersSlot = 6;
constexpr std::int64_t kDriverWorthAThread = 1 << 17;  // multiplications
// Bytes between what is multiplied and what is asked for, best of 1 to 16 KB on an Intel Xeon with AMX.
constexpr std::ptrdiff_t kAhead = 8 << 10, kAheadOfIntegers = 5 << 10;
constexpr std::int64_t kScales = 1 << 11, kMostScaleRows = 64;  // read at once
#if defined(__aarch64__)
constexpr std::int64_t kMostByteRows = kFewRows;  // sdot takes less time than widening to floats
#else
constexpr std::int64_t kMostByteRows = 2;  // rows of x: more take less time in floats, which widen the matrix once
#endif

/// Few rows of x: every row of the matrix is read once. Four rows at a time, two from each half of a thread's share:
/// memory comes sooner where a core reads two places of it in turn.
class FewRows {
 public:
  explicit FewRows(const BlockQuantizedProduct& p) : p_(p), m_(p.matrix) {
    arrange();
    if (m_.blocks.zero_point == ZeroPoint::none || way_ == Way::numbers) return;
    sums_ = thread_buffer<float>(static_cast<std::size_t>(p.m * blocks_), kSumsSlot);
    for (std::int64_t i = 0; i < p.m; ++i)
      loops().block_sums(p.x + i * m_.columns, m_.columns, m_.blocks.columns, sums_ + i * blocks_);
  }

  void run(std::int64_t begin, std::int64_t end) const {
    const std::int64_t half = (end - begin) / kMostRows * 2;
    const Memory memory(*this);
    for (std::int64_t j = 0; j < half; j += memory.rows)
      multiply({begin + j, begin + half + j, std::min(memory.rows, half - j), end - 1}, memory);
    for (std::int64_t j = begin + 2 * half; j < end; j += kMostRows) multiply({j, j + 2, 2, end - 1}, memory);
  }

  /// True if a row keeps others from the integers that they are multiplied in alone.
  bool mixed() const {
    return p_.m > 1 && way_ != Way::nibbles && nibble_loops() != nullptr && NibbleLoops::supports(m_);
  }

 private:
  enum class Way { nibbles, bytes, floats, numbers };

  /// `count` rows from each of two places, an even number; rows past `last` are `last`.
  struct Pairs {
    std::int64_t first, second, count, last;

    std::int64_t row(std::int64_t place) const {
      return std::min(place < count ? first + place : second + place - count, last);
    }
  };

  /// Scales and zero points of pairs, as float32; of many rows at once, since finding out how they lie takes as long as
  /// a short row.
  struct Memory {
    explicit Memory(const FewRows& of)
        : rows(std::clamp<std::int64_t>(kScales / of.blocks_ / 2 * 2, 2, kMostScaleRows)) {
      const auto count = static_cast<std::size_t>(2 * rows * of.blocks_);
      if (of.way_ != Way::numbers) scales = thread_buffer<float>(count, kRowScalesSlot);
      if (of.sums_ != nullptr) zeros = thread_buffer<float>(count, kRowZerosSlot);
    }

    std::int64_t rows;  ///< read from each place
    float *scales, *zeros = nullptr;
  };

  using ReadRows = void (*)(const QuantizedMatrix&, const std::byte*, std::int64_t, std::int64_t, float*);
  void read(ReadRows rows, const Pairs& pairs, float* to) const {
    for (std::int64_t place = 0; place < 2 * pairs.count; place += pairs.count) {
      const std::int64_t row = pairs.row(place), count = std::min(pairs.count, pairs.last - row + 1);
      rows(m_, p_.weight, row, count, to + place * blocks_);
      // Repeats the last row for rows past it.
      for (std::int64_t r = count; r < pairs.count; ++r)
        std::copy_n(to + (place + count - 1) * blocks_, blocks_, to + (place + r) * blocks_);
    }
  }

  /// x in the order in which the loops read it.
  void arrange() {
    if (arrange_nibbles() || arrange_bytes()) return;
    way_ = loops().supports(m_) ? Way::floats : Way::numbers;
    const int together = way_ == Way::floats ? m_.together() : 1;
    x_row_ = loops().arranged_size(m_.columns, together);
    x_ = thread_buffer<float>(static_cast<std::size_t>(p_.m * x_row_), kXSlot);
    for (std::int64_t i = 0; i < p_.m; ++i)
      loops().arrange(p_.x + i * m_.columns, m_.columns, together, x_ + i * x_row_);
  }

  /// x, of at most `most` rows, in steps of integers; false where the loops cannot, or a number of x is none that they
  /// take.
  template <class Loops, class Step, class Arrange>
  bool arrange_integers(const Loops* loops, Way way, std::int64_t most, Step*& to, const Arrange& arrange) {
    if (loops == nullptr || p_.m > most || !Loops::supports(m_)) return false;
    steps_ = (m_.columns + Step::kColumns - 1) / Step::kColumns;
    to = thread_buffer<Step>(static_cast<std::size_t>(p_.m * steps_), kXSlot);
    for (std::int64_t i = 0; i < p_.m; ++i) {
      if (!arrange(*loops, p_.x + i * m_.columns, to + i * steps_)) return false;
    }
    way_ = way;
    return true;
  }
  bool arrange_nibbles() {
    return arrange_integers(
        nibble_loops(), Way::nibbles, kFewRows, x_steps_,
        [&](const NibbleLoops& l, const float* x, auto* to) { return l.arrange(x, m_.columns, *nibble_type(m_), to); });
  }
  bool arrange_bytes() {
    return arrange_integers(byte_loops(), Way::bytes, kMostByteRows, x_bytes_,
                            [&](const ByteLoops& l, const float* x, auto* to) {
                              return l.arrange(x, m_.columns, m_.element == DType::i8, to);
                            });
  }

  void multiply(const Pairs& pairs, const Memory& memory) const {
    if (way_ == Way::numbers) {
      for (std::int64_t place = 0; place < 2 * pairs.count; ++place) multiply_numbers(pairs.row(place));
      return;
    }
    if (memory.zeros != nullptr) read(zeros_of_rows, pairs, memory.zeros);
    if (way_ == Way::nibbles) return multiply_nibbles(pairs, memory);
    read(scales_of_rows, pairs, memory.scales);
    if (way_ == Way::bytes) return multiply_bytes(pairs, memory);
    multiply_floats(pairs, memory);
  }

  void multiply_nibbles(const Pairs& pairs, const Memory& memory) const {
    NibbleRows rows{.type = nibble_type(m_),
                    .elements = elements_of(0),
                    .row_bytes = m_.row_bytes(),
                    .columns = m_.columns,
                    .block = m_.blocks.columns,
                    .first = pairs.first,
                    .second = pairs.second,
                    .count = pairs.count,
                    .last = pairs.last,
                    .ahead = kAheadOfIntegers};
    if (scales_in_place(pairs)) {
      rows.scale = m_.blocks.scale;
      rows.scale_bytes = blocks_ * element_size(rows.scale);
      const std::byte* const scales = p_.weight + m_.scale_offset();
      rows.scales[0] = scales + (m_.first + pairs.first) * rows.scale_bytes;
      rows.scales[1] = scales + (m_.first + pairs.second) * rows.scale_bytes;
    } else {
      read(scales_of_rows, pairs, memory.scales);
      rows.scale_bytes = blocks_ * std::int64_t{sizeof(float)};
      rows.scales[0] = reinterpret_cast<const std::byte*>(memory.scales);
      rows.scales[1] = rows.scales[0] + pairs.count * rows.scale_bytes;
    }
    float sums[NibbleRows::kTogether * 2 * kMostScaleRows];
    rows.x_row = steps_;
    const bool several = NibbleLoops::takes_several(rows.scale, rows.block);
    for (std::int64_t i = 0; i < p_.m; i += rows.x_rows) {
      rows.x_rows = several && p_.m - i >= NibbleRows::kTogether ? NibbleRows::kTogether : 1;
      rows.x = x_steps_ + i * steps_;
      nibble_loops()->dots(rows, sums);
      for (std::int64_t k = 0; k < rows.x_rows; ++k) store(i + k, pairs, memory, sums + 2 * k * pairs.count);
    }
  }

  const std::uint8_t* elements_of(std::int64_t row) const {
    return reinterpret_cast<const std::uint8_t*>(p_.weight) + (m_.first + row) * m_.row_bytes();
  }

  void multiply_bytes(const Pairs& pairs, const Memory& memory) const {
    ByteRows rows{.is_signed = m_.element == DType::i8,
                  .elements = elements_of(0),
                  .columns = m_.columns,
                  .first = pairs.first,
                  .second = pairs.second,
                  .count = pairs.count,
                  .last = pairs.last,
                  .ahead = kAheadOfIntegers};
    float sums[2 * kMostScaleRows];
    for (std::int64_t i = 0; i < p_.m; ++i) {
      rows.x = x_bytes_ + i * steps_;
      byte_loops()->dots(rows, sums);
      for (std::int64_t place = 0; place < 2 * pairs.count; ++place) sums[place] *= memory.scales[place];
      store(i, pairs, memory, sums);
    }
  }

  bool scales_in_place(const Pairs& pairs) const {
    // The caller multiplies the shares of subtracted zero points by the scales.
    if (m_.blocks.zero_point == ZeroPoint::subtracted || !NibbleLoops::takes_scales(m_)) return false;
    if (m_.blocks.scale != DType::f8_e8m0) return true;
    const auto normal = [&](std::int64_t row) {
      const std::int64_t rows = std::min(pairs.count, pairs.last - row + 1);
      return nibble_loops()->normal(p_.weight + m_.scale_offset() + (m_.first + row) * blocks_, rows * blocks_);
    };
    return normal(pairs.row(0)) && normal(pairs.row(pairs.count));
  }

  void multiply_floats(const Pairs& pairs, const Memory& memory) const {
    Dots d{.x_row = x_row_, .columns = m_.columns, .block = m_.blocks.columns, .ahead = kAhead};
    const ElementLoops& loop = *loops().element_loops(m_);
    for (std::int64_t r = 0; r < pairs.count; r += 2) {
      const std::array<std::int64_t, kMostRows> places{r, r + 1, pairs.count + r, pairs.count + r + 1};
      for (std::size_t j = 0; j < kMostRows; ++j) {
        d.elements[j] = elements_of(pairs.row(places[j]));
        d.scales[j] = memory.scales + places[j] * blocks_;
      }
      for (std::int64_t i = 0; i < p_.m; i += kMostRows) {
        const std::int64_t count = std::min<std::int64_t>(kMostRows, p_.m - i);
        float sums[kMostRows * kMostRows];
        d.x = x_ + i * x_row_;
        loop.dots[count - 1](d, sums);
        for (std::int64_t q = 0; q < count; ++q) {
          for (std::size_t j = 0; j < kMostRows; ++j)
            store(i + q, pairs, places[j], memory, sums[q * kMostRows + static_cast<std::int64_t>(j)]);
        }
      }
    }
  }

  /// The share of a row's zero points in its sum.
  float shift(const float* x_sums, const float* zeros, const float* scales) const {
    constexpr std::int64_t kParts = 16;  // separate sums, which registers hold
    float parts[kParts] = {}, sum = 0;
    std::int64_t b = 0;
    if (m_.blocks.zero_point == ZeroPoint::added) {
      for (; b + kParts <= blocks_; b += kParts) {
        for (std::int64_t l = 0; l < kParts; ++l) parts[l] += zeros[b + l] * x_sums[b + l];
      }
      for (; b < blocks_; ++b) sum += zeros[b] * x_sums[b];
    } else {
      for (; b + kParts <= blocks_; b += kParts) {
        for (std::int64_t l = 0; l < kParts; ++l) parts[l] -= zeros[b + l] * scales[b + l] * x_sums[b + l];
      }
      for (; b < blocks_; ++b) sum -= zeros[b] * scales[b] * x_sums[b];
    }
    for (const float part : parts) sum += part;
    return sum;
  }

  /// Blocks that the loops do not take: the row becomes numbers first.
  void multiply_numbers(std::int64_t row) const {
    auto* numbers = thread_buffer<float>(static_cast<std::size_t>(m_.columns), kNumbersSlot);
    numbers_of_row(m_, p_.weight, row, 0, m_.columns, numbers);
    for (std::int64_t i = 0; i < p_.m; ++i) {
      const float* x = p_.x + i * m_.columns;
      float parts[16] = {};
      std::int64_t k = 0;
      for (; k + 16 <= m_.columns; k += 16) {
        for (std::int64_t l = 0; l < 16; ++l) parts[l] += x[k + l] * numbers[k + l];
      }
      float sum = 0;
      for (; k < m_.columns; ++k) sum += x[k] * numbers[k];
      for (const float part : parts) sum += part;
      store(i, row, sum);
    }
  }

  /// Sums of all rows.
  void store(std::int64_t i, const Pairs& pairs, const Memory& memory, const float* sums) const {
    if (memory.zeros != nullptr) {
      for (std::int64_t place = 0; place < 2 * pairs.count; ++place) store(i, pairs, place, memory, sums[place]);
      return;
    }
    for (std::int64_t place = 0; place < 2 * pairs.count; place += pairs.count) {
      const std::int64_t row = pairs.row(place), count = std::min(pairs.count, pairs.last - row + 1);
      float* const y = p_.y + i * p_.n + row;
      for (std::int64_t r = 0; r < count; ++r) y[r] = sums[place + r] + (p_.bias == nullptr ? 0.0F : p_.bias[row + r]);
    }
  }

  void store(std::int64_t i, const Pairs& pairs, std::int64_t place, const Memory& memory, float sum) const {
    if (memory.zeros != nullptr)
      sum += shift(sums_ + i * blocks_, memory.zeros + place * blocks_, memory.scales + place * blocks_);
    store(i, pairs.row(place), sum);
  }

  void store(std::int64_t i, std::int64_t row, float sum) const {
    p_.y[i * p_.n + row] = sum + (p_.bias == nullptr ? 0.0F : p_.bias[row]);
  }

  const BlockQuantizedProduct& p_;
  const QuantizedMatrix& m_;
  Way way_ = Way::numbers;
  std::int64_t blocks_ = m_.scales().columns, x_row_ = 0, steps_ = 0;
  float *x_ = nullptr, *sums_ = nullptr;
  NibbleStep* x_steps_ = nullptr;  ///< instead of x_, in integers
  ByteSteps* x_bytes_ = nullptr;
};

/// Each row alone: the same bits as without the others.
void multiply_each(const BlockQuantizedProduct& p) {
  BlockQuantizedProduct row = p;
  row.m = 1;
  row.finish = {};
  for (std::int64_t i = 0; i < p.m; ++i, row.x += p.matrix.columns, row.y += p.n) multiply(row);
  if (p.finish.epilogue != nullptr) p.finish.apply(p.y, p.n, p.m, p.n, 0, p.n);
}

}  // namespace

void multiply(const BlockQuantizedProduct& p) {
  const std::int64_t n = p.n, k = p.matrix.columns;
  if (p.m > kFewRows) {
    return linear({p.m, n, k, k, k}, {.x = p.x,
                                      .weight = p.weight,
                                      .bias = p.bias,
                                      .y = p.y,
                                      .finish = p.finish,
                                      .type = p.matrix.element,
                                      .quantized = &p.matrix});
  }
  if (p.matrix.blocks.sparse()) return multiply_sparse(p);
  const FewRows few(p);
  if (few.mixed()) return multiply_each(p);
  parallel_for((n + kMostRows - 1) / kMostRows, std::max<std::int64_t>(1, kDriverWorthAThread / (kMostRows * k * p.m)),
               [&](std::int64_t begin, std::int64_t end) {
                 const std::int64_t first = begin * kMostRows, last = std::min(n, end * kMostRows);
                 few.run(first, last);
                 if (p.finish.epilogue != nullptr) p.finish.apply(p.y + first, n, p.m, last - first, first, n);
               });
}

}  // namespace tern::block_quantized
