#include "kernels/cpu/products/epilogue/unfused.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "dtypes/byte_integers.h"
#include "kernels/channels_last.h"
#include "schema/epilogue.h"

namespace tern::cpu {
namespace {

constexpr std::size_t kMostOperands = 32;

const Kernel& pointwise_kernel() {
  return cpu_kernels().kernels[static_cast<std::size_t>(Op::pointwise)];
}

/// The two nodes of a call.
struct UnfusedNodes {
  explicit UnfusedNodes(const Node& n) : product(n) {
    product.expr = {};
    product.inputs.resize(std::min(product.inputs.size(), kEpilogueOperands), kNoValue);
    tail.op = Op::pointwise;
    tail.expr = n.expr;
  }
  Node product, tail;
};

class UnfusedCalls {
 public:
  UnfusedCalls(const KernelCall& call, const UnfusedNodes& steps, std::byte* floats)
      : product(call), tail(call), out_(call.out[0]) {
    out_.dtype = DType::f32;
    out_.data = floats;
    product.node = &steps.product;
    product.in = call.in.first(std::min(call.in.size(), kEpilogueOperands));
    product.out = {&out_, 1};
    tail.node = &steps.tail;
    in_[0] = out_;
    std::size_t count = 1;
    for (std::size_t i = kEpilogueOperands; i < call.in.size() && count < kMostOperands; ++i, ++count) {
      in_[count] = call.in[i];
      constant_[count] = call.constant != nullptr && call.constant[i];
    }
    result_ = call.out[0];
    if (!result_.contiguous()) {  // pointwise nodes see channels last as rows
      for (TensorView& v : std::span(in_).first(count)) v = to_channels_last_order(v, result_.rank);
      result_ = to_channels_last_order(result_, result_.rank);
    }
    tail.in = {in_.data(), count};
    tail.out = {&result_, 1};
    tail.constant = constant_.data();
    tail.scratch = {};
    tail.state = nullptr;
    tail.weights = nullptr;
  }
  UnfusedCalls(const UnfusedCalls&) = delete;
  UnfusedCalls& operator=(const UnfusedCalls&) = delete;
  KernelCall product, tail;

 private:
  TensorView out_, result_;
  std::array<TensorView, kMostOperands> in_;
  std::array<bool, kMostOperands> constant_{};
};

class Unfused : public PreparedAlgorithm {
 public:
  Unfused(const KernelCall& call, std::unique_ptr<KernelState> (*prepare)(const KernelCall&)) : steps_(*call.node) {
    const UnfusedCalls calls(call, steps_, nullptr);
    product_.reset(static_cast<AlgorithmState*>(prepare(calls.product).release()));
    tail_ = pointwise_kernel().prepare(calls.tail);
    choice = product_->algorithm;
    unread = product_->unread;
    asks_ahead = product_->asks_ahead;
    own_epilogue = true;
  }

  void reserve(const KernelCall& call, ScratchArena& arena) const override {
    const UnfusedCalls calls(call, steps_, reinterpret_cast<std::byte*>(floats(call, arena)));
    product_->prepared->reserve(calls.product, arena);
  }
  RemainingWork run(KernelCall& call, ScratchArena& arena, const pointwise::Epilogue*) const override {
    UnfusedCalls calls(call, steps_, reinterpret_cast<std::byte*>(floats(call, arena)));
    product_->prepared->run(calls.product, arena, nullptr);
    calls.tail.state = tail_.get();
    pointwise_kernel().run(calls.tail);
    return RemainingWork::nothing;
  }

 private:
  static float* floats(const KernelCall& call, ScratchArena& arena) {
    return arena.allocate<float>(call.out[0].numel());
  }

  UnfusedNodes steps_;
  std::unique_ptr<AlgorithmState> product_;
  std::unique_ptr<KernelState> tail_;
};

}  // namespace

bool makes_bytes(const KernelCall& call) {
  return !call.node->expr.code.empty() && is_byte_integer(call.out[0].dtype);
}

std::unique_ptr<KernelState> prepare_unfused(const KernelCall& call,
                                             std::unique_ptr<KernelState> (*prepare)(const KernelCall&)) {
  return std::make_unique<AlgorithmState>(call, std::make_unique<Unfused>(call, prepare));
}

}  // namespace tern::cpu
