#include "kernels/cpu/dnnl/matmul.h"

#include "kernels/cpu/dnnl/engine.h"
#include "kernels/cpu/dnnl/packed_weight.h"

namespace tern::dnnl_cpu {
namespace {

using dnnl::memory;

class Primitive final : public PackedMatmul {
 public:
  Primitive(const dnnl::matmul::primitive_desc& pd, const PackedProduct& p, const memory::desc& from)
      : primitive_(pd),
        weight_(pack_weight({p.weight, p.access, 1}, from, pd.weights_desc())),
        scratch_(pd.scratchpad_desc().get_size()) {
    args_.emplace(DNNL_ARG_SRC, memory(pd.src_desc(), engine(), nullptr));
    args_.emplace(DNNL_ARG_WEIGHTS, weight_->memory);
    args_.emplace(DNNL_ARG_DST, memory(pd.dst_desc(), engine(), nullptr));
    args_.emplace(DNNL_ARG_SCRATCHPAD, memory(pd.scratchpad_desc(), engine(), nullptr));
    if (p.bias) args_.emplace(DNNL_ARG_BIAS, memory(pd.bias_desc(), engine(), nullptr));
  }
  std::size_t scratch() const override { return scratch_; }
  void run(const void* a, const void* bias, void* c, std::byte* scratch) override {
    args_[DNNL_ARG_SRC].set_data_handle(const_cast<void*>(a));
    args_[DNNL_ARG_DST].set_data_handle(c);
    args_[DNNL_ARG_SCRATCHPAD].set_data_handle(scratch);
    if (bias != nullptr) args_[DNNL_ARG_BIAS].set_data_handle(const_cast<void*>(bias));
    primitive_.execute(stream(), args_);
    stream().wait();
  }

 private:
  dnnl::matmul primitive_;
  std::shared_ptr<const PackedWeight> weight_;
  std::size_t scratch_;
  std::unordered_map<int, memory> args_;
};

}  // namespace

bool native_bf16() {
  return has_bf16();
}

std::unique_ptr<PackedMatmul> packed_matmul(const PackedProduct& p) {
  const std::lock_guard lock(creation());
  try {
    const auto type = data_type(p.dtype);
    const memory::desc a({p.m, p.k}, type, {p.lda, 1});
    const memory::desc bias = p.bias ? plain({1, p.n}, type) : memory::desc();
    const auto pd = matmul(a, any({p.k, p.n}, type), bias, plain({p.m, p.n}, type));
    const bool converted = p.weight.dtype != p.dtype;
    const memory::desc from =
        converted ? plain({p.k, p.n}, type) : memory::desc({p.k, p.n}, type, {p.weight.stride(0), p.weight.stride(1)});
    return std::make_unique<Primitive>(pd, p, from);
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

}  // namespace tern::dnnl_cpu
