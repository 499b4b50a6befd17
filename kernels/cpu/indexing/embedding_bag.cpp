// embedding_bag: sums and means of rows of a table. The op's definition computes maxima and the other outputs.
#include <algorithm>

#include "dtypes/convert.h"
#include "kernels/cpu/indexing/indexing.h"
#include "kernels/cpu/indexing/positions.h"
#include "kernels/cpu/reductions/row_loops.h"
#include "kernels/cpu/scratch.h"
#include "schema/kinds.h"
#include "threads/parallel.h"

namespace tern {
namespace {

class BagSums {
 public:
  explicit BagSums(const KernelCall& c)
      : table_(c.in[0]),
        out_(c.out[0]),
        indices_(c.in[1]),
        offsets_(c.in[2]),
        index_count_(c.in[1].numel()),
        offset_count_(c.in[2].numel()),
        padding_(c.node->integer(AttrKey::padding_index)),
        width_(table_.size(1)),
        is_mean_(static_cast<BagKind>(c.node->integer(AttrKey::kind)) == BagKind::mean) {}

  void run() const {
    check_offsets();
    if (out_.numel() == 0) return;
    const std::int64_t bags = out_.size(0), row_bytes = width_ * element_size(table_.dtype);
    const std::int64_t mean_size = bags == 0 ? 0 : index_count_ / bags;
    parallel_for(bags, grain_for((mean_size + 1) * width_), [&](std::int64_t begin, std::int64_t end) {
      double* sums = thread_buffer<double>(static_cast<std::size_t>(width_), 0);
      float* row = thread_buffer<float>(static_cast<std::size_t>(width_), 1);
      for (std::int64_t bag = begin; bag < end; ++bag) {
        std::fill_n(sums, width_, 0.0);
        const std::int64_t size = add_rows(bag, row, sums);
        for (std::int64_t j = 0; j < width_; ++j)
          row[j] = static_cast<float>(is_mean_ && size > 0 ? sums[j] / static_cast<double>(size) : sums[j]);
        convert(row, DType::f32, out_.data + bag * row_bytes, out_.dtype, width_);
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
      const std::int64_t position = indices_.at(i, table_.size(0));
      if (position == padding_) continue;
      ++size;
      const std::byte* data = table_.data + position * row_bytes;
      if (table_.dtype != DType::f32) convert(data, table_.dtype, row, DType::f32, width_);
      loops.add_each(sums, table_.dtype == DType::f32 ? reinterpret_cast<const float*>(data) : row, width_);
    }
    return size;
  }

  const TensorView &table_, &out_;
  Positions indices_, offsets_;
  std::int64_t index_count_, offset_count_, padding_, width_;
  bool is_mean_;
};

}  // namespace

bool cpu_serves_embedding_bag(const KernelCall& c) {
  const DType t = c.in[0].dtype;
  const auto& outputs = c.node->outputs;
  return !outputs.empty() && (t == DType::f32 || t == DType::bf16 || t == DType::f16) && !c.has(3) &&
         static_cast<BagKind>(c.node->integer(AttrKey::kind)) != BagKind::max &&
         std::all_of(outputs.begin() + 1, outputs.end(), [](ValueId v) { return v == kNoValue; });
}

void cpu_embedding_bag(KernelCall& c) {
  if (c.wants(0)) BagSums(c).run();
}

}  // namespace tern
