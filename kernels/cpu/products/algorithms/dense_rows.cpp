// Products whose rows are copied before they are multiplied. Those of float8 by float8 become float32, and the product
// is that of floats by a weight of 8 bits, which is read as it lies; both fit in bfloat16, so products of bfloat16 are
// exact: whatever precision is asked for, they serve. Few rows of each plane of float32, as transposed batches have
// them, become the rows of one matrix, which any algorithm multiplies.
#include <algorithm>
#include <vector>

#include "kernels/cpu/dense.h"
#include "kernels/cpu/products/choose.h"
#include "kernels/cpu/products/problem.h"

namespace tern::cpu {
namespace {

bool is_small(DType t) {
  return t == DType::f8_e4m3fn || t == DType::f8_e5m2;
}

/// The call with dense rows of floats. It refers to itself.
class FloatRows {
 public:
  explicit FloatRows(const KernelCall& c, float* x = nullptr) : call_(c), in_(c.in.begin(), c.in.end()) {
    in_[0].dtype = DType::f32;
    make_contiguous(in_[0]);
    in_[0].data = reinterpret_cast<std::byte*>(x);
    call_.in = in_;
    if (is_small(c.in[0].dtype)) call_.precision = Precision::bfloat16;
  }
  FloatRows(const FloatRows&) = delete;
  FloatRows& operator=(const FloatRows&) = delete;
  KernelCall& call() { return call_; }

 private:
  KernelCall call_;
  std::vector<TensorView> in_;
};

class DenseRows : public PreparedAlgorithm {
 public:
  explicit DenseRows(const KernelCall& c) : float_state_(prepare_product(FloatRows(c).call())) {
    choice = float_state_->prepared->choice;
    unread = float_state_->prepared->unread;
  }

  void reserve(const KernelCall& c, ScratchArena& arena) const override {
    FloatRows rows(c, arena.allocate<float>(c.in[0].numel()));
    float_state_->prepared->reserve(rows.call(), arena);
  }

  RemainingWork run(KernelCall& c, ScratchArena& arena, const pointwise::Epilogue* epilogue) const override {
    auto* const x = arena.allocate<float>(c.in[0].numel());
    to_dense(c.in[0], DType::f32, x);
    FloatRows rows(c, x);
    return float_state_->prepared->run(rows.call(), arena, epilogue);
  }

 private:
  std::unique_ptr<AlgorithmState> float_state_;
};

}  // namespace

std::unique_ptr<PreparedAlgorithm> prepare_dense_rows(const KernelCall& c) {
  const DType x = c.in[0].dtype, w = c.in[1].dtype;
  const bool small = is_small(x) && is_small(w), joins = x == DType::f32 && is_floating(w) && copy_joins_rows(c);
  const bool serves = (small || joins) && c.in[1].blocks.columns == 0 && c.out[0].dtype == DType::f32 &&
                      (!c.has_input(2) || c.in[2].dtype == DType::f32);
  return serves ? std::make_unique<DenseRows>(c) : nullptr;
}

}  // namespace tern::cpu
