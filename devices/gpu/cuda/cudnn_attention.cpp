// attention by cuDNN.
#include <cstdlib>
#include <limits>

#include "devices/gpu/cuda/attention_plan.h"
#include "devices/gpu/cuda/cudnn.h"
#include "devices/gpu/cuda/mask_kernels.h"
#include "devices/gpu/cuda/providers.h"
#include "devices/gpu/cuda/shared_plans.h"
#include "devices/gpu/libraries/staging.h"
#include "devices/gpu/library.h"
#include "devices/gpu/status.h"

namespace tern::gpu {
namespace {

constexpr int kFirstCapability = 80;
constexpr std::uint64_t kScratchAlignment = 256;

/// Requires the library's lock.
std::shared_ptr<const CudnnPlan> shared_plan(Cudnn& library, const GpuDevice& d, const Attention& a) {
  static SharedPlans<Attention, CudnnPlan> all;
  return all.find_or_create(d.id, a, [&] { return attention_plan(library.api, library.target(), a); });
}

/// 90 for "sm_90".
int capability(const GpuDevice& d) {
  const std::size_t number = d.arch.find_first_of("0123456789");
  return number == std::string::npos ? 0 : std::atoi(d.arch.c_str() + number);
}

std::uint64_t bytes_of(const Shape& s, std::uint64_t element) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < s.sizes.size(); ++i) last += (s.sizes[i] - 1) * s.strides[i];
  return (static_cast<std::uint64_t>(last) + 1) * element;
}

class AttentionNode : public VendorKernel {
 public:
  AttentionNode(Cudnn& library, Attention a, std::shared_ptr<const CudnnPlan> plan, const MaskKernels* masks)
      : library_(library), a_(std::move(a)), plan_(std::move(plan)), masks_(masks) {}
  ~AttentionNode() override {
    const std::lock_guard lock(library_.lock);
    plan_.reset();
  }

  std::uint64_t scratch_bytes() const override {
    std::uint64_t bytes = kScratchAlignment;
    for (const std::uint64_t part : {workspace_bytes(), bias_bytes(), seen_bytes(), bytes_of(a_.q, kElement),
                                     bytes_of(a_.k, kElement), bytes_of(a_.v, kElement), bytes_of(a_.out, kElement)})
      bytes += aligned(part, kScratchAlignment);
    return bytes;
  }

  tern_device_status run(Stream stream, const tern_device_op& op, Address scratch) override {
    Address room = aligned(scratch, kScratchAlignment);
    const auto take = [&](std::uint64_t bytes) {
      const Address here = room;
      room += aligned(bytes, kScratchAlignment);
      return here;
    };
    const Address workspace = take(workspace_bytes()), bias = take(bias_bytes()), seen = take(seen_bytes());
    std::vector<std::int64_t> numbers = {kAttentionQ, kAttentionK, kAttentionV, kAttentionOut};
    std::vector<Address> addresses;
    const Shape* const shapes[] = {&a_.q, &a_.k, &a_.v};
    for (std::size_t i = 0; i < 3; ++i) {
      Address at = op.inputs[i].data;
      if (at % kAttentionAlignment != 0) {
        const std::uint64_t bytes = bytes_of(*shapes[i], kElement);
        const Address copy = take(bytes);
        TERN_GPU_TRY(checked(api().copy_within(copy, at, bytes, stream), "copying an operand"));
        at = copy;
      }
      addresses.push_back(at);
    }
    const Address asked = op.outputs[0].data;
    const Address out = asked % kAttentionAlignment == 0 ? asked : take(bytes_of(a_.out, kElement));
    addresses.push_back(out);
    if (masks_ != nullptr) {
      TERN_GPU_TRY(masks_->make_bias(stream, a_, op.inputs[3].data, bias, seen));
      numbers.push_back(kAttentionBias), addresses.push_back(bias);
    }
    TERN_GPU_TRY(attend(stream, numbers, addresses, workspace));
    if (masks_ != nullptr) TERN_GPU_TRY(masks_->clear_unseen(stream, a_, out, seen));
    if (out == asked) return TERN_DEVICE_OK;
    return checked(api().copy_within(asked, out, bytes_of(a_.out, kElement), stream), "copying a result");
  }

 private:
  static constexpr std::uint64_t kElement = 2;

  std::uint64_t workspace_bytes() const { return static_cast<std::uint64_t>(plan_->workspace); }
  std::uint64_t bias_bytes() const {
    return masks_ == nullptr ? 0 : bytes_of(a_.bias(), a_.bias_type == cudnn::kFloat ? 4 : 2);
  }
  std::uint64_t seen_bytes() const {
    if (masks_ == nullptr) return 0;
    const Shape b = a_.bias();
    return static_cast<std::uint64_t>(b.sizes[0] * b.sizes[1] * b.sizes[2]);
  }

  tern_device_status attend(Stream stream, std::vector<std::int64_t>& numbers, std::vector<Address>& addresses,
                            Address workspace) {
    // cuDNN reads host values during the call.
    const float scale = a_.scale, hidden = -std::numeric_limits<float>::infinity();
    numbers.push_back(kAttentionScale), addresses.push_back(reinterpret_cast<Address>(&scale));
    if (a_.is_causal) numbers.push_back(kAttentionHidden), addresses.push_back(reinterpret_cast<Address>(&hidden));
    cudnn::Descriptor pack(library_.api, cudnn::kPack);
    pack.set(cudnn::kPackNumbers, numbers);
    pack.set(cudnn::kPackAddresses, cudnn::kTypePointer, std::span<const Address>(addresses));
    pack.set(cudnn::kPackWorkspace, cudnn::kTypePointer, workspace).finalize();
    if (!pack.is_valid()) return failed(TERN_DEVICE_FAILED, "cuDNN does not take the addresses of attention");
    const std::lock_guard lock(library_.lock);
    TERN_GPU_TRY(checked_cudnn(library_.api.set_stream(library_.handle, stream), "setting the stream"));
    return checked_cudnn(library_.api.execute(library_.handle, plan_->plan.handle(), pack.handle()), "attention");
  }

  Cudnn& library_;
  const Attention a_;
  std::shared_ptr<const CudnnPlan> plan_;
  const MaskKernels* const masks_;  ///< null without a mask
};

}  // namespace

bool has_attention(const tern_device_op& op) {
  return attention_of(op).has_value();
}

std::string attention_needs(const GpuDevice& d) {
  if (!cudnn_of(d).has_attention()) return "9.10.2";
  return capability(d) < kFirstCapability ? "compute capability 8.0" : "";
}

std::unique_ptr<VendorKernel> prepare_attention(const GpuDevice& d, const tern_device_op& op, Activation) {
  const std::optional<Attention> a = attention_of(op);
  if (!a) return nullptr;
  Cudnn& library = cudnn_of(d);
  if (!library.why.empty() || !attention_needs(d).empty()) return nullptr;
  const MaskKernels* masks = a->has_mask() ? mask_kernels(d, *a) : nullptr;
  if (a->has_mask() && masks == nullptr) return nullptr;
  const std::lock_guard lock(library.lock);
  std::shared_ptr<const CudnnPlan> plan = shared_plan(library, d, *a);
  return plan == nullptr ? nullptr : std::make_unique<AttentionNode>(library, *a, std::move(plan), masks);
}

}  // namespace tern::gpu
