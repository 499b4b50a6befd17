#include "kernels/cpu/products/float_call.h"

#include <algorithm>
#include <utility>

#include "dtypes/convert.h"
#include "kernels/cpu/dense.h"

namespace tern::cpu {
namespace {

/// Views all elements in memory order, without axes: for views without gaps.
TensorView flat(const TensorView& v) {
  TensorView f = v;
  f.rank = 1;
  f.sizes[0] = v.numel();
  f.strides[0] = 1;
  return f;
}

bool is_dense(const TensorView& v) {
  std::int64_t last = 0;
  for (int i = 0; i < v.rank; ++i) last += (v.size(i) - 1) * v.stride(i);
  return last + 1 == v.numel();
}

}  // namespace

FloatCall::FloatCall(const KernelCall& call)
    : original_(call), call_(call), in_(call.in.begin(), call.in.end()), out_(call.out[0]) {
  for (std::size_t i = 0; i < std::min<std::size_t>(3, in_.size()); ++i) {
    if (!call.has_input(i) || in_[i].dtype == DType::f32) continue;
    in_[i].dtype = DType::f32;
    in_[i].data = nullptr;
    if (!is_dense(in_[i])) make_contiguous(in_[i]);
  }
  out_.dtype = DType::f32;
  call_.in = in_;
  call_.out = {&out_, 1};
}

void FloatCall::widen(std::vector<float> weight) {
  const auto take = [&](std::size_t i, std::vector<float>& to) {
    if (!original_.has_input(i) || original_.in[i].dtype == DType::f32) return;
    to.resize(static_cast<std::size_t>(original_.in[i].numel()));
    const bool dense = is_dense(original_.in[i]);
    to_dense(dense ? flat(original_.in[i]) : original_.in[i], DType::f32, to.data());
    in_[i].data = reinterpret_cast<std::byte*>(to.data());
  };
  take(0, x_);
  take(2, bias_);
  weight_ = std::move(weight);
  in_[1].data = reinterpret_cast<std::byte*>(weight_.data());
  if (original_.out[0].dtype == DType::f32) return;
  y_.resize(static_cast<std::size_t>(out_.numel()));
  out_.data = reinterpret_cast<std::byte*>(y_.data());
}

void FloatCall::store() const {
  if (original_.out[0].dtype != DType::f32) from_dense(y_.data(), DType::f32, flat(original_.out[0]));
}

}  // namespace tern::cpu
