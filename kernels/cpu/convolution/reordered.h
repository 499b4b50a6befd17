// A convolution call viewed as channels last.
#pragma once

#include <tern/error.h>

#include <algorithm>
#include <array>

#include "kernels/channels_last.h"
#include "schema/epilogue.h"

namespace tern::cpu {

/// True if the image is channels last without gaps; contiguous images can be both.
inline bool has_channels_last(const TensorView& v) {
  return to_channels_last_order(v, v.rank).contiguous();
}

/// A call whose image, result and epilogue operands are viewed as channels last, as the epilogue requires.
class Reordered {
 public:
  explicit Reordered(const KernelCall& call)
      : call_(call), out_(to_channels_last_order(call.out[0], call.out[0].rank)) {
    const std::size_t first = kEpilogueOperands, count = call.in.size();
    if (count > in_.size()) fail(ErrorCode::internal, "an expression with this many operands cannot be fused");
    for (std::size_t i = 0; i < std::min(first, count); ++i) in_[i] = call.in[i];
    in_[0] = to_channels_last_order(call.in[0], call.in[0].rank);
    for (std::size_t i = first; i < count; ++i) in_[i] = to_channels_last_order(call.in[i], call.out[0].rank);
    call_.in = {in_.data(), count};
    call_.out = {&out_, 1};
  }
  Reordered(const Reordered&) = delete;
  Reordered& operator=(const Reordered&) = delete;
  const KernelCall& call() const { return call_; }

 private:
  KernelCall call_;
  std::array<TensorView, 32> in_;
  TensorView out_;
};

}  // namespace tern::cpu
