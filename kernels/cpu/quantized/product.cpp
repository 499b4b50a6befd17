#include "kernels/cpu/quantized/product.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/linear/linear.h"
#include "kernels/cpu/quantized/loops.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::quantized {
namespace {

constexpr std::size_t kXSlot = 7, kSumsSlot = 1, kRowScalesSlot = 2, kRowZerosSlot = 3, kNumbersSlot = 6;
constexpr std::int64_t kWorthAThread = 1 << 17;  // multiplications
constexpr std::ptrdiff_t kAhead = 1 << 10;       // bytes: the processor fetches by itself where lines are asked for

/// Few rows of x: every row of the matrix is read once. Four rows at a time, two from each half of a thread's share:
/// memory comes sooner where a core reads two places of it in turn.
class FewRows {
 public:
  explicit FewRows(const Product& p) : p_(p), m_(p.matrix), direct_(loops().takes(m_)) {
    const int together = direct_ ? elements_per_byte(m_.element) : 1;
    x_row_ = loops().arranged_size(m_.columns, together);
    x_ = thread_buffer<float>(static_cast<std::size_t>(p.m * x_row_), kXSlot);
    for (std::int64_t i = 0; i < p.m; ++i) loops().arrange(p.x + i * m_.columns, m_.columns, together, x_ + i * x_row_);
    if (m_.blocks.zero_point == ZeroPoint::none || !direct_) return;
    sums_ = thread_buffer<float>(static_cast<std::size_t>(p.m * blocks_), kSumsSlot);
    for (std::int64_t i = 0; i < p.m; ++i)
      loops().block_sums(p.x + i * m_.columns, m_.columns, m_.blocks.columns, sums_ + i * blocks_);
  }

  void run(std::int64_t begin, std::int64_t end) const {
    const std::int64_t half = (end - begin) / kMostRows * 2;
    for (std::int64_t j = 0; j < half; j += 2) {
      const std::int64_t first = begin + j, second = begin + half + j;
      multiply({first, first + 1, second, second + 1});
    }
    // The last rows, some of them repeated.
    for (std::int64_t j = begin + 2 * half; j < end; j += kMostRows) {
      std::array<std::int64_t, kMostRows> rows;
      for (int r = 0; r < kMostRows; ++r) rows[static_cast<std::size_t>(r)] = std::min(j + r, end - 1);
      multiply(rows);
    }
  }

 private:
  using Rows = std::array<std::int64_t, kMostRows>;

  void multiply(const Rows& rows) const {
    Dots d;
    d.x_row = x_row_;
    d.columns = m_.columns;
    d.ahead = kAhead;
    float* zeros = nullptr;
    const ElementLoops* loop = loops().of(m_.element);
    if (direct_) {
      d.block = m_.blocks.columns;
      auto* scales = thread_buffer<float>(static_cast<std::size_t>(kMostRows * blocks_), kRowScalesSlot);
      if (sums_ != nullptr) zeros = thread_buffer<float>(static_cast<std::size_t>(kMostRows * blocks_), kRowZerosSlot);
      for (std::size_t r = 0; r < kMostRows; r += 2) {
        const bool together = rows[r + 1] == rows[r] + 1;
        for (std::size_t q = r; q < r + 2; q += together ? 2 : 1) {
          const auto at = static_cast<std::int64_t>(q) * blocks_;
          scales_of_rows(m_, p_.weight, rows[q], together ? 2 : 1, scales + at);
          if (zeros != nullptr) zeros_of_rows(m_, p_.weight, rows[q], together ? 2 : 1, zeros + at);
        }
      }
      for (std::size_t r = 0; r < kMostRows; ++r) {
        d.elements[r] = reinterpret_cast<const std::uint8_t*>(p_.weight) + (m_.first + rows[r]) * m_.row_bytes();
        d.scales[r] = scales + static_cast<std::int64_t>(r) * blocks_;
      }
    } else {
      multiply_numbers(rows);
      return;
    }
    for (std::int64_t i = 0; i < p_.m; i += kMostRows) {
      const std::int64_t count = std::min<std::int64_t>(kMostRows, p_.m - i);
      float sums[kMostRows * kMostRows];
      d.x = x_ + i * x_row_;
      loop->dots[count - 1](d, sums);
      for (std::int64_t q = 0; q < count; ++q) {
        for (std::size_t r = 0; r < kMostRows; ++r) {
          const auto row = static_cast<std::int64_t>(r);
          float sum = sums[q * kMostRows + row];
          if (zeros != nullptr) sum += shift(sums_ + (i + q) * blocks_, zeros + row * blocks_, d.scales[r]);
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
    p_.y[i * p_.n + row] = sum + (p_.bias == nullptr ? 0.0F : p_.bias[row]);
  }

  const Product& p_;
  const QuantizedMatrix& m_;
  bool direct_;
  std::int64_t blocks_ = m_.scales().columns, x_row_ = 0;
  float *x_ = nullptr, *sums_ = nullptr;
};

}  // namespace

void multiply(const Product& p) {
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
  const FewRows few(p);
  parallel_for((n + kMostRows - 1) / kMostRows, std::max<std::int64_t>(1, kWorthAThread / (kMostRows * k * p.m)),
               [&](std::int64_t begin, std::int64_t end) {
                 const std::int64_t first = begin * kMostRows, last = std::min(n, end * kMostRows);
                 few.run(first, last);
                 if (p.finish.epilogue != nullptr) p.finish.apply(p.y + first, n, p.m, last - first, first, n);
               });
}

}  // namespace tern::quantized
