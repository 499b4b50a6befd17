#include "kernels/cpu/dnnl/matmul.h"

#include "kernels/cpu/dnnl/engine.h"
#include "kernels/cpu/dnnl/packed_weight.h"
#include "kernels/cpu/dnnl/run_pool.h"
#include "threads/loop_recorder.h"

namespace tern::dnnl_cpu {
namespace {

using dnnl::memory;

class Primitive final : public PackedMatmul {
 public:
  Primitive(const dnnl::matmul::primitive_desc& pd, const PackedProduct& p, const memory::desc& from)
      : desc_(pd),
        primitive_(pd),
        weight_(pack_weight({p.weight, p.access, 1}, from, pd.weights_desc())),
        bias_(p.bias),
        scratch_(pd.scratchpad_desc().get_size()) {}
  std::size_t scratch() const override { return scratch_; }
  void run(const void* a, const void* bias, void* c, std::byte* scratch) const override {
    const auto taken = free_runs_.acquire([&] { return arguments(); });
    Arguments& args = *taken;
    args[DNNL_ARG_SRC].set_data_handle(const_cast<void*>(a));
    args[DNNL_ARG_DST].set_data_handle(c);
    args[DNNL_ARG_SCRATCHPAD].set_data_handle(scratch);
    if (bias != nullptr) args[DNNL_ARG_BIAS].set_data_handle(const_cast<void*>(bias));
    const OpenMpScope openmp;
    primitive_.execute(stream(), args);
    stream().wait();
  }

 private:
  Arguments arguments() const {
    Arguments args;
    args.emplace(DNNL_ARG_SRC, memory(desc_.src_desc(), engine(), nullptr));
    args.emplace(DNNL_ARG_WEIGHTS, weight_->memory);
    args.emplace(DNNL_ARG_DST, memory(desc_.dst_desc(), engine(), nullptr));
    args.emplace(DNNL_ARG_SCRATCHPAD, memory(desc_.scratchpad_desc(), engine(), nullptr));
    if (bias_) args.emplace(DNNL_ARG_BIAS, memory(desc_.bias_desc(), engine(), nullptr));
    return args;
  }

  dnnl::matmul::primitive_desc desc_;
  dnnl::matmul primitive_;
  std::shared_ptr<const PackedWeight> weight_;
  bool bias_;
  std::size_t scratch_;
  mutable RunPool<Arguments> free_runs_;
};

}  // namespace

bool native_bf16() {
  return has_bf16();
}

bool is_built() {
  return true;
}

std::unique_ptr<PackedMatmul> packed_matmul(const PackedProduct& p) {
  const std::lock_guard lock(creation());
  try {
    const auto type = data_type(p.dtype);
    const memory::desc a({p.m, p.k}, type, {p.lda, 1});
    const memory::desc bias = p.bias ? plain({1, p.n}, type) : memory::desc();
    const auto pd = matmul(a, any_layout({p.k, p.n}, type), bias, plain({p.m, p.n}, type));
    const bool converted = p.weight.dtype != p.dtype;
    const memory::desc from =
        converted ? plain({p.k, p.n}, type) : memory::desc({p.k, p.n}, type, {p.weight.stride(0), p.weight.stride(1)});
    return std::make_unique<Primitive>(pd, p, from);
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

}  // namespace tern::dnnl_cpu
