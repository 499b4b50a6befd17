// Convolutions by oneDNN: float32, bfloat16, and types widened to these.
#include <algorithm>

#include "kernels/cpu/convolution/algorithms.h"
#include "kernels/cpu/convolution/operands.h"
#include "kernels/cpu/dnnl/convolution.h"
#include "kernels/cpu/dnnl/matmul.h"
#include "kernels/cpu/products/gemm.h"

namespace tern::cpu {
namespace {

class OneDnn : public PreparedAlgorithm {
 public:
  OneDnn(std::unique_ptr<dnnl_cpu::DnnlConvolution> convolution, DType type, bool constant_weight)
      : convolution_(std::move(convolution)), type_(type), constant_weight_(constant_weight) {
    choice = {Algorithm::onednn};
    unread = constant_weight ? 1u << 1 : 0;
  }

  void reserve(const KernelCall& c, ScratchArena& arena) const override {
    const ConvolutionOperands operands(c, type_, !constant_weight_, arena);
    allocate_buffer(arena);
  }

  RemainingWork run(KernelCall& c, ScratchArena& arena, const pointwise::Epilogue*) const override {
    ConvolutionOperands at(c, type_, !constant_weight_, arena);
    std::byte* const scratch = allocate_buffer(arena);
    at.convert();
    convolution_->run(at.x, at.weight, at.bias, at.sums, scratch);
    at.finish();
    return RemainingWork::epilogue;
  }

 private:
  std::byte* allocate_buffer(ScratchArena& arena) const {
    return arena.allocate<std::byte>(static_cast<std::int64_t>(convolution_->scratch()));
  }

  std::unique_ptr<dnnl_cpu::DnnlConvolution> convolution_;
  DType type_;
  bool constant_weight_;
};

/// True if a window may lie outside the image, or around the image without touching an element.
bool has_window_outside(const ConvolutionProblem& p) {
  return std::ranges::any_of(p.window, [](const WindowAxis& a) {
    return a.position(0, a.kernel - 1) < 0 || a.position(a.out - 1, 0) >= a.in || (a.kernel > 1 && a.dilation > a.in);
  });
}

/// Describes the node for oneDNN; false if oneDNN does not support the node or sums in another order than PyTorch.
bool describe_to_onednn(const ConvolutionCall& call, dnnl_cpu::DnnlConvolutionProblem& p) {
  const KernelCall& c = call.call;
  const DType dtype = c.in[0].dtype;
  const Node& node = *c.node;
  // PyTorch computes transposed volume convolutions from columns, too: the same order of sums gives the same bits.
  const bool is_transposed = node.integer(AttrKey::transposed) != 0;
  if (is_transposed && c.in[0].rank == 5) return false;
  // oneDNN would call a missing kernel (https://github.com/uxlfoundation/oneDNN/issues/5942).
  if (!is_transposed && has_window_outside(call.problem)) return false;
  // Transposed convolutions of oneDNN are slower in bfloat16 than in float32.
  p.dtype = dtype == DType::bf16 && dnnl_cpu::native_bf16() && !is_transposed ? DType::bf16 : DType::f32;
  p.x.assign(c.in[0].shape().begin(), c.in[0].shape().end());
  p.y.assign(c.out[0].shape().begin(), c.out[0].shape().end());
  for (std::size_t i = 0; i + 2 < p.x.size(); ++i) {
    p.strides.push_back(node.integer_at(AttrKey::strides, i));
    p.dilations.push_back(node.integer_at(AttrKey::dilations, i));
    p.padding_before.push_back(node.integer_at(AttrKey::before, i));
    p.padding_after.push_back(node.integer_at(AttrKey::after, i));
    if (node.integer_at(AttrKey::output_pads, i) >= p.strides[i]) return false;
  }
  p.groups = node.integer(AttrKey::groups);
  p.transposed = is_transposed;
  p.bias = c.has_input(2);
  p.weight = c.in[1];
  make_contiguous(p.weight);
  return true;
}

}  // namespace

bool onednn_computes(const ConvolutionCall& call) {
  const KernelCall& c = call.call;
  dnnl_cpu::DnnlConvolutionProblem p;
  return dnnl_cpu::is_built() && gemm_type(c.in[0].dtype) == DType::f32 && c.out[0].numel() != 0 &&
         c.in[0].numel() != 0 && c.in[1].numel() != 0 && describe_to_onednn(call, p);
}

std::unique_ptr<PreparedAlgorithm> convolution_by_onednn(const ConvolutionCall& call) {
  const KernelCall& c = call.call;
  if (!onednn_computes(call)) return nullptr;
  dnnl_cpu::DnnlConvolutionProblem p;
  if (!describe_to_onednn(call, p)) return nullptr;
  const bool constant = c.constant != nullptr && c.constant[1] && c.in[1].data != nullptr;
  if (!constant) p.weight.data = nullptr;
  p.access = c.weights;
  auto convolution = dnnl_cpu::convolution(p);
  if (convolution == nullptr) return nullptr;
  return std::make_unique<OneDnn>(std::move(convolution), p.dtype, constant);
}

}  // namespace tern::cpu
