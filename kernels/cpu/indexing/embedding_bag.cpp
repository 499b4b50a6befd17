// embedding_bag: sums, weighted sums, means and maxima of rows of a table. The op's definition computes the other
// outputs.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "dtypes/convert.h"
#include "dtypes/levels.h"
#include "kernels/cpu/indexing/indexing.h"
#include "kernels/cpu/indexing/positions.h"
#include "kernels/cpu/reductions/row_loops.h"
#include "kernels/cpu/scratch.h"
#include "schema/kinds.h"
#include "threads/parallel.h"

namespace tern {
namespace {

class Bags {
  static constexpr std::int64_t kColumns = 64, kWidth = 8;
  static constexpr std::int64_t kAhead = 8;      ///< rows prefetched before their sum
  static constexpr std::int64_t kTogether = 32;  ///< rows summed as floats, whose sum is added as doubles

 public:
  explicit Bags(const KernelCall& c)
      : table_(c.in[0]),
        out_(c.out[0]),
        indices_(c.in[1]),
        offsets_(c.in[2]),
        index_count_(c.in[1].numel()),
        offset_count_(c.in[2].numel()),
        padding_(c.node->integer(AttrKey::padding_index)),
        width_(table_.size(1)),
        kind_(static_cast<BagKind>(c.node->integer(AttrKey::kind))) {
    if (!c.has_input(3)) return;
    weights_.resize(static_cast<std::size_t>(index_count_));
    convert(c.in[3].data, c.in[3].dtype, weights_.data(), DType::f32, index_count_);
  }

  void run() const {
    check_offsets();
    if (out_.numel() == 0) return;
    const std::int64_t bags = out_.size(0), row_bytes = width_ * element_size(table_.dtype);
    const std::int64_t mean_size = bags == 0 ? 0 : index_count_ / bags;
    parallel_for(bags, grain_for((mean_size + 1) * width_), [&](std::int64_t begin, std::int64_t end) {
      double* sums = thread_buffer<double>(static_cast<std::size_t>(width_), 0);
      float* row = thread_buffer<float>(static_cast<std::size_t>(width_), 1);
      for (std::int64_t bag = begin; bag < end; ++bag) {
        const bool sums_floats = table_.dtype == DType::f32 && kind_ != BagKind::max;
        if (!sums_floats) std::fill_n(sums, width_, 0.0);
        const std::int64_t size = sums_floats ? sum_rows(bag, sums) : add_rows(bag, row, sums);
        const bool is_mean = kind_ == BagKind::mean && size > 1;
        float* y = out_.dtype == DType::f32 ? out_.data_as<float>() + bag * width_ : row;
        visit_cpu_level([&](auto) __attribute__((always_inline)) {
          if (is_mean) {
#pragma omp simd
            for (std::int64_t j = 0; j < width_; ++j) y[j] = static_cast<float>(sums[j] / static_cast<double>(size));
          } else {
#pragma omp simd
            for (std::int64_t j = 0; j < width_; ++j) y[j] = static_cast<float>(sums[j]);
          }
        });
        if (y == row) convert(row, DType::f32, out_.data + bag * row_bytes, out_.dtype, width_);
      }
    });
  }

 private:
  void check_offsets() const {
    bool ascend = offset_count_ == 0 || offsets_[0] == 0;
    for (std::int64_t i = 0; i < offset_count_; ++i)
      ascend = ascend && offsets_[i] <= (i + 1 < offset_count_ ? offsets_[i + 1] : index_count_);
    if (!ascend)
      fail(ErrorCode::runtime, "the offsets of the bags must start with 0, ascend, and end within the indices");
  }
  /// Adds the rows of a bag to `sums`, and returns their number.
  std::int64_t add_rows(std::int64_t bag, float* row, double* sums) const {
    const std::int64_t first = offsets_[bag], last = bag + 1 < offset_count_ ? offsets_[bag + 1] : index_count_;
    const auto& loops = rows::loops<float>();
    const std::int64_t row_bytes = width_ * element_size(table_.dtype);
    std::int64_t size = 0;
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t position = indices_.checked_at(i, table_.size(0));
      if (position == padding_) continue;
      ++size;
      const std::byte* data = table_.data + position * row_bytes;
      if (table_.dtype != DType::f32) convert(data, table_.dtype, row, DType::f32, width_);
      const float* x = table_.dtype == DType::f32 ? reinterpret_cast<const float*>(data) : row;
      if (kind_ == BagKind::max) {
        join_maxima(x, size == 1, sums);
      } else if (!weights_.empty()) {
        add_weighted(x, static_cast<double>(weights_[static_cast<std::size_t>(i)]), sums);
      } else {
        loops.add_each(sums, x, width_);
      }
    }
    return size;
  }

  /// Sums the rows of a bag of floats, 64 columns at a time, in registers.
  std::int64_t sum_rows(std::int64_t bag, double* sums) const {
    const std::int64_t first = offsets_[bag], last = bag + 1 < offset_count_ ? offsets_[bag + 1] : index_count_;
    indices_.check(first, last - first, table_.size(0));
    std::int64_t size = 0;
    for (std::int64_t i = first; i < last; ++i) size += indices_[i] != padding_ ? 1 : 0;
    // The first rows of the next bag are prefetched; their positions are not checked yet.
    const std::int64_t following = std::min(kAhead, index_count_ - last);
    auto* positions = thread_buffer<std::int64_t>(static_cast<std::size_t>(last - first + kAhead), 2);
    for (std::int64_t i = first; i < last + following; ++i) positions[i - first] = indices_[i];
    for (std::int64_t i = last; i < last + kAhead; ++i) {
      std::int64_t& next = positions[i - first];
      next = i < last + following && next >= 0 && next < table_.size(0) ? next : 0;
    }
    const auto columns = [&]<bool kWeighted>(std::bool_constant<kWeighted>) __attribute__((always_inline)) {
      std::int64_t column = 0;
      for (; column + kColumns <= width_; column += kColumns)
        sum_columns<kColumns, kWeighted>(positions, first, last, column, sums);
      for (; column + kWidth <= width_; column += kWidth)
        sum_columns<kWidth, kWeighted>(positions, first, last, column, sums);
      for (; column < width_; ++column) {
        const float* x = table_.data_as<const float>() + column;
        double sum = 0;
        for (std::int64_t i = first; i < last; ++i) {
          const std::int64_t row = indices_[i];
          if (row != padding_) sum += static_cast<double>(x[row * width_]) * weight_of(i);
        }
        sums[column] = sum;
      }
    };
    visit_cpu_level([&](auto) __attribute__((always_inline)) {
      if (weights_.empty()) {
        columns(std::false_type());
      } else {
        columns(std::true_type());
      }
    });
    return size;
  }
  template <std::int64_t kCount, bool kWeighted>
  [[gnu::always_inline]] void sum_columns(const std::int64_t* positions, std::int64_t first, std::int64_t last,
                                          std::int64_t column, double* sums) const {
    using Floats [[gnu::vector_size(kWidth * sizeof(float))]] = float;
    using Row [[gnu::vector_size(kWidth * sizeof(float)), gnu::aligned(4), gnu::may_alias]] = float;
    const float* table = table_.data_as<const float>() + column;
    std::fill_n(sums + column, kCount, 0.0);
    for (std::int64_t begin = first; begin < last; begin += kTogether) {
      Floats sum[kCount / kWidth] = {};
      for (std::int64_t i = begin; i < std::min(last, begin + kTogether); ++i) {
        const float* next = table + positions[i + kAhead - first] * width_;
#pragma GCC unroll 4
        for (std::int64_t k = 0; k < kCount; k += 16) __builtin_prefetch(next + k);
        const std::int64_t row = positions[i - first];
        if (row == padding_) continue;
        const float weight = kWeighted ? weights_[static_cast<std::size_t>(i)] : 1;
#pragma GCC unroll 8
        for (std::int64_t k = 0; k < kCount / kWidth; ++k) {
          const Floats x = *reinterpret_cast<const Row*>(table + row * width_ + k * kWidth);
          sum[k] += kWeighted ? x * weight : x;
        }
      }
#pragma GCC unroll 8
      for (std::int64_t k = 0; k < kCount / kWidth; ++k) {
#pragma GCC unroll 8
        for (std::int64_t j = 0; j < kWidth; ++j) sums[column + k * kWidth + j] += static_cast<double>(sum[k][j]);
      }
    }
  }
  double weight_of(std::int64_t i) const {
    return weights_.empty() ? 1.0 : static_cast<double>(weights_[static_cast<std::size_t>(i)]);
  }

  void add_weighted(const float* x, double weight, double* sums) const {
    visit_cpu_level([&](auto) __attribute__((always_inline)) {
#pragma omp simd
      for (std::int64_t j = 0; j < width_; ++j) sums[j] += static_cast<double>(x[j]) * weight;
    });
  }
  /// Keeps the earlier of equal or unordered elements.
  void join_maxima(const float* x, bool is_first, double* sums) const {
    visit_cpu_level([&](auto) __attribute__((always_inline)) {
#pragma omp simd
      for (std::int64_t j = 0; j < width_; ++j) {
        const auto v = static_cast<double>(x[j]);
        sums[j] = is_first || v > sums[j] ? v : sums[j];
      }
    });
  }

  const TensorView &table_, &out_;
  Positions indices_, offsets_;
  std::int64_t index_count_, offset_count_, padding_, width_;
  BagKind kind_;
  std::vector<float> weights_;
};

}  // namespace

bool cpu_serves_embedding_bag(const KernelCall& c) {
  const DType t = c.in[0].dtype;
  const auto& outputs = c.node->outputs;
  return !outputs.empty() && (t == DType::f32 || t == DType::bf16 || t == DType::f16) &&
         std::all_of(outputs.begin() + 1, outputs.end(), [](ValueId v) { return v == kNoValue; });
}

void cpu_embedding_bag(KernelCall& c) {
  if (c.wants_output(0)) Bags(c).run();
}

}  // namespace tern
