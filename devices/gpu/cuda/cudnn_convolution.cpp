// convolution by cuDNN.
#include "devices/gpu/cuda/convolution_plan.h"
#include "devices/gpu/cuda/cudnn.h"
#include "devices/gpu/cuda/providers.h"
#include "devices/gpu/cuda/shared_plans.h"
#include "devices/gpu/libraries/convolution_end.h"
#include "devices/gpu/libraries/staging.h"
#include "devices/gpu/status.h"

namespace tern::gpu {
namespace {

constexpr std::int64_t kAligned = 16;  // Tern's own memory is aligned; parts of tensors may not be

struct ConvolutionPlans {
  std::unique_ptr<CudnnPlan> aligned,
      unaligned;  ///< plans for addresses aligned to kAligned, and for all other addresses
};

/// Requires the library's lock.
std::shared_ptr<const ConvolutionPlans> shared_plans(Cudnn& library, const GpuDevice& d, const Convolution& c) {
  static SharedPlans<Convolution, ConvolutionPlans> all;
  return all.find_or_create(d.id, c, [&]() -> std::unique_ptr<const ConvolutionPlans> {
    const CudnnTarget target = library.target();
    auto plans = std::make_unique<ConvolutionPlans>();
    plans->aligned = convolution_plan(library.api, target, c, kAligned);
    if (plans->aligned != nullptr) plans->unaligned = convolution_plan(library.api, target, c, c.bytes);
    return plans->unaligned == nullptr ? nullptr : std::move(plans);
  });
}

class ConvolutionNode : public VendorKernel {
 public:
  ConvolutionNode(Cudnn& library, Convolution c, std::shared_ptr<const ConvolutionPlans> plans, Function end)
      : library_(library), c_(std::move(c)), plans_(std::move(plans)), end_(end) {}
  ~ConvolutionNode() override {
    const std::lock_guard lock(library_.lock);
    plans_.reset();
  }

  std::uint64_t scratch_bytes() const override {
    const std::int64_t most = std::max(plans_->aligned->workspace, plans_->unaligned->workspace);
    return most == 0 ? 0 : static_cast<std::uint64_t>(most) + kScratchAlignment;
  }

  tern_device_status run(Stream stream, const tern_device_op& op, Address scratch) override {
    TERN_GPU_TRY(convolve(stream, op, scratch));
    if (end_ == nullptr) return TERN_DEVICE_OK;
    return end_convolution(end_, stream, c_, c_.has_bias ? op.inputs[2].data : 0, op.outputs[0].data);
  }

 private:
  tern_device_status convolve(Stream stream, const tern_device_op& op, Address scratch) {
    std::vector<std::int64_t> numbers = {kConvolutionX, kConvolutionW, kConvolutionY};
    std::vector<Address> addresses = {op.inputs[0].data, op.inputs[1].data, op.outputs[0].data};
    if (c_.has_bias && end_ == nullptr) numbers.push_back(kConvolutionBias), addresses.push_back(op.inputs[2].data);
    bool all = true;
    for (const Address a : addresses) all = all && a % kAligned == 0;
    const CudnnPlan& plan = all ? *plans_->aligned : *plans_->unaligned;
    const Address workspace = plan.workspace == 0 ? 0 : aligned(scratch, kScratchAlignment);
    cudnn::Descriptor pack(library_.api, cudnn::kPack);
    pack.set(cudnn::kPackNumbers, numbers);
    pack.set(cudnn::kPackAddresses, cudnn::kTypePointer, std::span<const Address>(addresses));
    pack.set(cudnn::kPackWorkspace, cudnn::kTypePointer, workspace).finalize();
    if (!pack.is_valid()) return failed(TERN_DEVICE_FAILED, "cuDNN does not take the addresses of a convolution");
    const std::lock_guard lock(library_.lock);
    TERN_GPU_TRY(checked_cudnn(library_.api.set_stream(library_.handle, stream), "setting the stream"));
    return checked_cudnn(library_.api.execute(library_.handle, plan.plan.handle(), pack.handle()), "a convolution");
  }

  static constexpr std::uint64_t kScratchAlignment = 256;
  Cudnn& library_;
  const Convolution c_;
  std::shared_ptr<const ConvolutionPlans> plans_;
  const Function end_;  ///< null if cuDNN's call includes bias and ReLU, or without bias and ReLU
};

}  // namespace

bool has_convolution(const tern_device_op& op) {
  return convolution_of(op).has_value();
}

std::unique_ptr<VendorKernel> prepare_convolution(const GpuDevice& d, const tern_device_op& op, Activation activation) {
  std::optional<Convolution> c = convolution_of(op);
  if (!c || activation == Activation::gelu) return nullptr;
  c->has_relu = activation == Activation::relu;
  Cudnn& library = cudnn_of(d);
  if (!library.why.empty()) return nullptr;
  Convolution of_cudnn = *c;
  // cuDNN's fast 16-bit engines support neither bias nor ReLU; its float32 engines support both at no cost.
  const bool is_half = c->bytes == 2 && (c->has_bias || c->has_relu);
  const Function end = is_half ? convolution_end(d, *c) : nullptr;
  if (end != nullptr) of_cudnn.has_bias = of_cudnn.has_relu = false;
  const std::lock_guard lock(library.lock);
  std::shared_ptr<const ConvolutionPlans> plans = shared_plans(library, d, of_cudnn);
  return plans == nullptr ? nullptr : std::make_unique<ConvolutionNode>(library, *std::move(c), std::move(plans), end);
}

}  // namespace tern::gpu
