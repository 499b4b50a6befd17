#include "kernels/cpu/quantized/product.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/linear/linear.h"
#include "kernels/cpu/quantized/loops.h"
#include "kernels/cpu/quantized/nibbles.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::quantized {
namespace {

constexpr std::size_t kXSlot = 7, kSumsSlot = 1, kRowScalesSlot = 2, kRowZerosSlot = 3, kNumbersSlot = 6;
constexpr std::int64_t kWorthAThread = 1 << 17;                 // multiplications
constexpr std::ptrdiff_t kAhead = 1 << 10;                      // bytes
constexpr std::int64_t kScales = 1 << 11, kMostScaleRows = 64;  // read at once
constexpr std::int64_t kMostNibbleRows = 2;  // of x: more take less time in floats, which widen the matrix once

/// Bytes between what is multiplied and what is asked for. Intel's processors fetch ahead by themselves where lines are
/// asked for shortly before (kernels/cpu/linear): in the next two rows, if these are short.
std::ptrdiff_t bytes_ahead(const QuantizedMatrix& m) {
  const std::ptrdiff_t two_rows = 2 * m.row_bytes();
  return two_rows <= 2 * kAhead ? two_rows * std::max<std::ptrdiff_t>(1, kAhead / two_rows) : kAhead;
}

/// Few rows of x: every row of the matrix is read once. Four rows at a time, two from each half of a thread's share:
/// memory comes sooner where a core reads two places of it in turn.
class FewRows {
 public:
  explicit FewRows(const Product& p) : p_(p), m_(p.matrix) {
    arrange();
    if (m_.blocks.zero_point == ZeroPoint::none || way_ == Way::numbers) return;
    sums_ = thread_buffer<float>(static_cast<std::size_t>(p.m * blocks_), kSumsSlot);
    for (std::int64_t i = 0; i < p.m; ++i)
      loops().block_sums(p.x + i * m_.columns, m_.columns, m_.blocks.columns, sums_ + i * blocks_);
  }

  void run(std::int64_t begin, std::int64_t end) const {
    const std::int64_t half = (end - begin) / kMostRows * 2;
    const Memory memory(*this);
    for (std::int64_t j = 0; j < half; j += memory.rows) {
      const std::int64_t count = std::min(memory.rows, half - j), first = begin + j, second = begin + half + j;
      memory.read(*this, first, 0, count);
      memory.read(*this, second, count, count);
      for (std::int64_t r = 0; r < count; r += 2)
        multiply({first + r, first + r + 1, second + r, second + r + 1}, {r, r + 1, count + r, count + r + 1}, memory);
    }
    // The last rows, some of them repeated.
    for (std::int64_t j = begin + 2 * half; j < end; j += kMostRows) {
      memory.read(*this, j, 0, std::min<std::int64_t>(end - j, kMostRows));
      Rows rows, places;
      for (std::size_t r = 0; r < kMostRows; ++r) {
        places[r] = std::min(static_cast<std::int64_t>(r), end - 1 - j);
        rows[r] = j + places[r];
      }
      multiply(rows, places, memory);
    }
  }

 private:
  using Rows = std::array<std::int64_t, kMostRows>;

  enum class Way { nibbles, floats, numbers };

  /// Scales and zero points of rows, as float32; of many rows at once, since finding out how they lie takes as long as
  /// a short row.
  struct Memory {
    explicit Memory(const FewRows& of)
        : rows(std::clamp<std::int64_t>(kScales / of.blocks_ / 2 * 2, 2, kMostScaleRows)) {
      if (of.way_ == Way::numbers) return;
      const auto count = static_cast<std::size_t>(std::max<std::int64_t>(2 * rows, kMostRows) * of.blocks_);
      scales = thread_buffer<float>(count, kRowScalesSlot);
      if (of.sums_ != nullptr) zeros = thread_buffer<float>(count, kRowZerosSlot);
    }
    void read(const FewRows& of, std::int64_t row, std::int64_t place, std::int64_t count) const {
      if (scales != nullptr) scales_of_rows(of.m_, of.p_.weight, row, count, scales + place * of.blocks_);
      if (zeros != nullptr) zeros_of_rows(of.m_, of.p_.weight, row, count, zeros + place * of.blocks_);
    }

    std::int64_t rows;  ///< of each half
    float *scales = nullptr, *zeros = nullptr;
  };

  /// x in the order in which the loops read it.
  void arrange() {
    if (arrange_nibbles()) return;
    way_ = loops().takes(m_) ? Way::floats : Way::numbers;
    const int together = way_ == Way::floats ? elements_per_byte(m_.element) : 1;
    x_row_ = loops().arranged_size(m_.columns, together);
    x_ = thread_buffer<float>(static_cast<std::size_t>(p_.m * x_row_), kXSlot);
    for (std::int64_t i = 0; i < p_.m; ++i)
      loops().arrange(p_.x + i * m_.columns, m_.columns, together, x_ + i * x_row_);
  }

  bool arrange_nibbles() {
    const NibbleLoops* const nibbles = nibble_loops();
    if (nibbles == nullptr || p_.m > kMostNibbleRows || !NibbleLoops::takes(m_)) return false;
    steps_ = (m_.columns + NibbleStep::kColumns - 1) / NibbleStep::kColumns;
    x_steps_ = thread_buffer<NibbleStep>(static_cast<std::size_t>(p_.m * steps_), kXSlot);
    for (std::int64_t i = 0; i < p_.m; ++i) {
      if (!nibbles->arrange(p_.x + i * m_.columns, m_.columns, *nibble_type(m_.element), x_steps_ + i * steps_))
        return false;
    }
    way_ = Way::nibbles;
    return true;
  }

  /// `places` of the rows in the memory of scales.
  void multiply(const Rows& rows, const Rows& places, const Memory& memory) const {
    if (way_ == Way::numbers) return multiply_numbers(rows);
    Dots d;
    d.x_row = x_row_;
    d.columns = m_.columns;
    d.ahead = ahead_;
    d.block = m_.blocks.columns;
    for (std::size_t r = 0; r < kMostRows; ++r) {
      d.elements[r] = reinterpret_cast<const std::uint8_t*>(p_.weight) + rows[r] * m_.row_bytes();
      d.scales[r] = memory.scales + places[r] * blocks_;
    }
    const std::int64_t most = way_ == Way::nibbles ? 1 : kMostRows;
    for (std::int64_t i = 0; i < p_.m; i += most) {
      const std::int64_t count = std::min<std::int64_t>(most, p_.m - i);
      float sums[kMostRows * kMostRows];
      if (way_ == Way::nibbles) {
        nibble_loops()->dots({d, x_steps_ + i * steps_, nibble_type(m_.element)}, sums);
      } else {
        d.x = x_ + i * x_row_;
        loops().of(m_.element)->dots[count - 1](d, sums);
      }
      for (std::int64_t q = 0; q < count; ++q) {
        for (std::size_t r = 0; r < kMostRows; ++r) {
          float sum = sums[q * kMostRows + static_cast<std::int64_t>(r)];
          if (memory.zeros != nullptr)
            sum += shift(sums_ + (i + q) * blocks_, memory.zeros + places[r] * blocks_, d.scales[r]);
          store(i + q, rows[r], sum);
        }
      }
    }
  }

  /// What the zero points of a row add to its sum.
  float shift(const float* x_sums, const float* zeros, const float* scales) const {
    float sum = 0;
    if (m_.blocks.zero_point == ZeroPoint::added) {
      for (std::int64_t b = 0; b < blocks_; ++b) sum += zeros[b] * x_sums[b];
    } else {
      for (std::int64_t b = 0; b < blocks_; ++b) sum -= zeros[b] * scales[b] * x_sums[b];
    }
    return sum;
  }

  /// Blocks that the loops do not take: the rows are made numbers first.
  void multiply_numbers(const Rows& rows) const {
    auto* numbers = thread_buffer<float>(static_cast<std::size_t>(m_.columns), kNumbersSlot);
    for (const std::int64_t row : rows) {
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
  }

  void store(std::int64_t i, std::int64_t row, float sum) const {
    p_.y[i * m_.rows + row] = sum + (p_.bias == nullptr ? 0.0F : p_.bias[row]);
  }

  const Product& p_;
  const QuantizedMatrix& m_;
  Way way_ = Way::numbers;
  std::ptrdiff_t ahead_ = bytes_ahead(m_);
  std::int64_t blocks_ = m_.scales().columns, x_row_ = 0, steps_ = 0;
  float *x_ = nullptr, *sums_ = nullptr;
  NibbleStep* x_steps_ = nullptr;  ///< instead of x_, in integers
};

}  // namespace

void multiply(const Product& p) {
  const std::int64_t n = p.matrix.rows, k = p.matrix.columns;
  if (p.m > kFewRows) {
    return linear({p.m, n, k, k, k}, {.x = p.x,
                                      .weight = p.weight,
                                      .bias = p.bias,
                                      .y = p.y,
                                      .finish = p.finish,
                                      .type = p.matrix.element,
                                      .quantized = &p.matrix});
  }
  const FewRows few(p);
  parallel_for((n + kMostRows - 1) / kMostRows, std::max<std::int64_t>(1, kWorthAThread / (kMostRows * k * p.m)),
               [&](std::int64_t begin, std::int64_t end) {
                 const std::int64_t first = begin * kMostRows, last = std::min(n, end * kMostRows);
                 few.run(first, last);
                 if (p.finish.epilogue != nullptr) p.finish.apply(p.y + first, n, p.m, last - first, first, n);
               });
}

}  // namespace tern::quantized
