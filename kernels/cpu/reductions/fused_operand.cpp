#include "kernels/cpu/reductions/fused_operand.h"

#include <algorithm>

#include "kernels/channels_last.h"
#include "kernels/cpu/dense.h"
#include "kernels/cpu/scratch.h"

namespace tern {
namespace {

constexpr std::size_t kWorkerSlot = 7, kBlockSlot = 8;  // slots of thread_buffer

/// Returns the operand's sizes: those declared, or the sizes to which the node's operands broadcast.
TensorView sizes_of_operand(const KernelCall& c) {
  TensorView v;
  v.dtype = c.node->expr.code.back().dtype;
  if (c.node->has(AttrKey::sizes)) {
    for (const Dim d : c.node->dims(AttrKey::sizes)) v.sizes[static_cast<std::size_t>(v.rank++)] = d.value();
    return v;
  }
  for (const TensorView& in : c.in) v.rank = std::max(v.rank, in.rank);
  std::fill_n(v.sizes.begin(), v.rank, 1);
  for (const TensorView& in : c.in) {
    for (int i = 0; i < in.rank; ++i) {
      if (in.size(i) != 1) v.sizes[static_cast<std::size_t>(v.rank - in.rank + i)] = in.size(i);
    }
  }
  return v;
}

}  // namespace

FusedOperand::FusedOperand(const KernelCall& c) : view_(sizes_of_operand(c)) {
  const auto rank = static_cast<std::size_t>(view_.rank);
  const auto has_all = [&](const TensorView& v) { return std::ranges::equal(v.shape(), view_.shape()); };
  const auto leader = std::ranges::find_if(c.in, has_all);
  for (std::size_t i = 0; i < rank; ++i) order_[i] = static_cast<int>(i);
  // An image in channels-last layout is read in this layout, if the order of its elements within a sum stays.
  if (leader != c.in.end() && is_channels_last(*leader)) {
    std::rotate(order_.begin() + 1, order_.begin() + 2, order_.begin() + view_.rank);
    const Dims& axes = c.node->dims(AttrKey::axes);
    const auto is_reduced = [&](int axis) {
      return axes.empty() || std::ranges::any_of(axes, [&](Dim a) {
               return (a.value() < 0 ? a.value() + view_.rank : a.value()) == axis;
             });
    };
    bool mixes = false;
    for (int i = 2; i < view_.rank; ++i) mixes = mixes || is_reduced(i) == is_reduced(1);
    if (mixes) std::sort(order_.begin(), order_.begin() + view_.rank);
  }
  std::int64_t stride = 1;
  for (std::size_t i = rank; i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order_[i]);
    view_.strides[axis] = stride;
    stride *= view_.sizes[axis];
  }
  ordered_ = to_memory_order(view_);
  node_.op = Op::pointwise;
  node_.expr = c.node->expr;
  const Operands operands(*this, c);
  program_ = std::make_unique<pointwise::TileProgram>(operands.call());
}

TensorView FusedOperand::to_memory_order(TensorView v) const {
  v = unsqueeze_to_rank(v, view_.rank);
  TensorView result = v;
  for (std::size_t i = 0; i < static_cast<std::size_t>(view_.rank); ++i) {
    result.sizes[i] = v.size(order_[i]);
    result.strides[i] = v.stride(order_[i]);
  }
  return result;
}

FusedOperand::Operands::Operands(const FusedOperand& operand, const KernelCall& c) : out_(operand.ordered_), call_(c) {
  in_.reserve(c.in.size());
  for (const TensorView& v : c.in) in_.push_back(operand.to_memory_order(v));
  call_.node = &operand.node_;
  call_.in = in_;
  call_.out = {&out_, 1};
}

FusedOperand::Reader::Reader(const FusedOperand& operand, const KernelCall& call)
    : block_(thread_buffer<std::byte>(static_cast<std::size_t>(kBlock * 16), kBlockSlot)),
      program_(*operand.program_),
      size_(element_size(operand.view_.dtype)),
      worker_(program_, call, thread_buffer<std::byte>(pointwise::TileWorker::bytes(program_), kWorkerSlot),
              program_.tile) {}

const std::byte* FusedOperand::Reader::read(std::int64_t at, std::int64_t n, std::int64_t following) {
  if (at < begin_ || at + n > end_) {
    begin_ = at;
    end_ = at + std::clamp(following, n, kBlock);
    const std::int64_t inner = program_.sizes[static_cast<std::size_t>(program_.rank) - 1];
    for (std::int64_t next = begin_; next < end_;) {
      std::int64_t count = std::min(end_ - next, program_.tile);
      if (program_.is_row_tiled) count = std::min(count, inner - next % inner);
      worker_.compute({next, count}, block_ + (next - begin_) * size_);
      next += count;
    }
  }
  return block_ + (at - begin_) * size_;
}

}  // namespace tern
