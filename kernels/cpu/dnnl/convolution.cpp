#include "kernels/cpu/dnnl/convolution.h"

#include "kernels/cpu/dense.h"
#include "kernels/cpu/dnnl/engine.h"
#include "kernels/cpu/dnnl/packed_weight.h"
#include "kernels/cpu/dnnl/run_pool.h"
#include "threads/loop_recorder.h"

namespace tern::dnnl_cpu {
namespace {

using dnnl::memory;

/// Describes the weight in oneDNN's axis order, [groups,] out, in, kernel...; a transposed weight is stored with in
/// before out.
memory::desc weight_desc(const DnnlConvolutionProblem& p, memory::data_type type, bool as_stored) {
  const TensorView& w = p.weight;
  memory::dims sizes, strides;
  const std::int64_t per_group = w.size(0) / p.groups;
  if (p.groups > 1) {
    sizes.push_back(p.groups);
    strides.push_back(per_group * w.stride(0));
  }
  const auto push = [&](std::int64_t size, std::int64_t stride) {
    sizes.push_back(size);
    strides.push_back(stride);
  };
  if (p.transposed) {
    push(w.size(1), w.stride(1));
    push(per_group, w.stride(0));
  } else {
    push(per_group, w.stride(0));
    push(w.size(1), w.stride(1));
  }
  for (int i = 2; i < w.rank; ++i) push(w.size(i), w.stride(i));
  return as_stored ? memory::desc(sizes, type, strides) : any_layout(sizes, type);
}

/// A tensor reordered to the primitive's preferred layout.
struct Staged {
  dnnl::reorder reorder;
  bool needed = false;
  memory outside, inside;
  std::size_t bytes = 0;

  Staged() = default;
  Staged(const memory::desc& out, const memory::desc& in, bool to_inside)
      : needed(out != in), bytes(needed ? in.get_size() : 0) {
    outside = memory(out, engine(), nullptr);
    inside = memory(in, engine(), nullptr);
    if (needed) reorder = to_inside ? dnnl::reorder(outside, inside) : dnnl::reorder(inside, outside);
  }
};

/// The tensors of a run, and the primitive's arguments with the same handles.
struct ConvolutionRun {
  Staged x, y, weight;
  Arguments args;
};

template <class PrimitiveDesc, class Primitive>
class Implementation final : public DnnlConvolution {
 public:
  Implementation(const PrimitiveDesc& pd, const DnnlConvolutionProblem& p, memory::data_type type)
      : desc_(pd),
        primitive_(pd),
        x_(plain(p.x, type)),
        y_(plain(p.y, type)),
        weight_(weight_desc(p, type, true)),
        bias_(p.bias),
        scratch_(pd.scratchpad_desc().get_size()) {
    if (p.weight.data != nullptr) packed_ = pack_weight({p.weight, p.access, 1}, weight_, pd.weights_desc());
    const auto first = free_runs_.acquire([&] { return make_run(); });
    const ConvolutionRun& run = *first;
    scratch_bytes_ = aligned(scratch_) + aligned(run.x.bytes) + aligned(run.y.bytes) + aligned(run.weight.bytes);
  }

  std::size_t scratch() const override { return scratch_bytes_; }

  void run(const void* x, const void* weight, const void* bias, void* y, std::byte* scratch) const override {
    const auto taken = free_runs_.acquire([&] { return make_run(); });
    const OpenMpScope openmp;
    ConvolutionRun& r = *taken;
    ScratchArena arena(scratch);
    r.args[DNNL_ARG_SCRATCHPAD].set_data_handle(arena.allocate<std::byte>(static_cast<std::int64_t>(scratch_)));
    bring(r.x, x, arena);
    if (packed_ == nullptr) bring(r.weight, weight, arena);
    r.y.outside.set_data_handle(y);
    r.y.inside.set_data_handle(r.y.needed ? arena.allocate<std::byte>(static_cast<std::int64_t>(r.y.bytes)) : y);
    if (bias != nullptr) r.args[DNNL_ARG_BIAS].set_data_handle(const_cast<void*>(bias));
    primitive_.execute(stream(), r.args);
    if (r.y.needed) r.y.reorder.execute(stream(), r.y.inside, r.y.outside);
    stream().wait();
  }

 private:
  static void bring(Staged& s, const void* data, ScratchArena& arena) {
    s.outside.set_data_handle(const_cast<void*>(data));
    s.inside.set_data_handle(s.needed ? arena.allocate<std::byte>(static_cast<std::int64_t>(s.bytes))
                                      : const_cast<void*>(data));
    if (s.needed) s.reorder.execute(stream(), s.outside, s.inside);
  }

  /// Reorders are primitives too (creation()).
  ConvolutionRun make_run() const {
    const std::lock_guard lock(creation());
    ConvolutionRun r{{x_, desc_.src_desc(), true}, {y_, desc_.dst_desc(), false}, {}, {}};
    if (packed_ == nullptr) {
      r.weight = Staged(weight_, desc_.weights_desc(), true);
    } else {
      r.weight.inside = packed_->memory;
    }
    r.args.emplace(DNNL_ARG_SRC, r.x.inside);
    r.args.emplace(DNNL_ARG_WEIGHTS, r.weight.inside);
    r.args.emplace(DNNL_ARG_DST, r.y.inside);
    r.args.emplace(DNNL_ARG_SCRATCHPAD, memory(desc_.scratchpad_desc(), engine(), nullptr));
    if (bias_) r.args.emplace(DNNL_ARG_BIAS, memory(desc_.bias_desc(), engine(), nullptr));
    return r;
  }

  PrimitiveDesc desc_;
  Primitive primitive_;
  memory::desc x_, y_, weight_;  ///< layouts of the caller
  bool bias_;
  std::shared_ptr<const PackedWeight> packed_;
  std::size_t scratch_, scratch_bytes_ = 0;
  mutable RunPool<ConvolutionRun> free_runs_;
};

}  // namespace

std::unique_ptr<DnnlConvolution> convolution(const DnnlConvolutionProblem& p) {
  const std::lock_guard lock(creation());
  try {
    const auto type = data_type(p.dtype);
    ConvolutionSpec s;
    s.x = any_layout(p.x, type);
    s.y = any_layout(p.y, type);
    s.weight = weight_desc(p, type, false);
    if (p.bias) s.bias = plain({p.y[1]}, type);
    s.strides = p.strides;
    s.dilations = p.dilations;
    for (auto& d : s.dilations) --d;
    s.padding_before = p.padding_before;
    s.padding_after = p.padding_after;
    if (p.transposed) {
      using Desc = dnnl::deconvolution_forward::primitive_desc;
      return std::make_unique<Implementation<Desc, dnnl::deconvolution_forward>>(deconvolution(s), p, type);
    }
    using Desc = dnnl::convolution_forward::primitive_desc;
    return std::make_unique<Implementation<Desc, dnnl::convolution_forward>>(convolution(s), p, type);
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

}  // namespace tern::dnnl_cpu
