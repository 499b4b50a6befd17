#include "kernels/cpu/convolution/operands.h"

namespace tern::cpu {

ConvolutionOperands::ConvolutionOperands(const KernelCall& call, DType type, bool reads_weight, ScratchArena& arena)
    : call_(call), type_(type) {
  const std::int64_t size = element_size(type);
  if (reads_weight && call.in[1].blocks.columns != 0) weight_ = arena.allocate<std::byte>(call.in[1].numel() * size);
  if (call.in[0].dtype == type) return;
  x_ = arena.allocate<std::byte>(call.in[0].numel() * size);
  if (reads_weight && weight_ == nullptr) weight_ = arena.allocate<std::byte>(call.in[1].numel() * size);
  if (call.has_input(2)) bias_ = arena.allocate<std::byte>(call.in[2].numel() * size);
  y_ = arena.allocate<std::byte>(call.out[0].numel() * size);
}

void ConvolutionOperands::convert() {
  x = operand(0, x_);
  weight = operand(1, weight_);
  bias = operand(2, bias_);
  sums = y_ != nullptr ? y_ : call_.out[0].data;
}

void ConvolutionOperands::finish() const {
  if (y_ != nullptr) from_dense(sums, type_, call_.out[0]);
}

const std::byte* ConvolutionOperands::operand(std::size_t i, std::byte* buffer) const {
  if (!call_.has_input(i)) return nullptr;
  if (call_.in[i].dtype == type_) return call_.in[i].data;
  if (buffer != nullptr) to_dense(call_.in[i], type_, buffer);
  return buffer;
}

}  // namespace tern::cpu
