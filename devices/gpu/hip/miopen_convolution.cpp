// convolution by MIOpen's immediate mode: solutions are chosen and compiled during the node's preparation.
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include "devices/gpu/hip/miopen.h"
#include "devices/gpu/hip/providers.h"
#include "devices/gpu/libraries/convolution_end.h"
#include "devices/gpu/libraries/dtype_numbers.h"
#include "devices/gpu/libraries/staging.h"
#include "devices/gpu/status.h"

namespace tern::gpu {
namespace {

constexpr std::size_t kMaxSolutions = 16;
constexpr std::size_t kMaxWorkspace = std::size_t{256} << 20;
constexpr std::uint64_t kScratchAlignment = 256;

using Object = std::unique_ptr<void, Status (*)(void*)>;
using Ints = std::vector<int>;

std::optional<Ints> ints(const std::vector<std::int64_t>& values) {
  if (std::ranges::any_of(values, [](std::int64_t v) { return v > std::numeric_limits<int>::max(); }))
    return std::nullopt;
  return Ints(values.begin(), values.end());
}

/// MIOpen pads both ends equally. Padding after the last window does not matter.
bool is_padded_alike(const Convolution& c) {
  for (std::size_t i = 0; i < c.padding_before.size(); ++i) {
    const std::int64_t room = c.x.sizes[i + 2] + 2 * c.padding_before[i] - (c.w.sizes[i + 2] - 1) * c.dilations[i] - 1;
    if (room < 0 || room / c.strides[i] + 1 != c.y.sizes[i + 2]) return false;
  }
  return true;
}

/// True for row-major shapes of less than 2^31 elements. MIOpen caches compiled code by sizes and layouts without
/// strides (ProblemDescription::MakeNetworkConfig), its gemm assumes packed tensors, and kernels of older releases
/// count elements in 32 bits. Axes of size 1 get the strides of packed tensors, because MIOpen derives layouts from
/// strides.
bool pack(Shape* s) {
  const Shape packed = contiguous(s->sizes);
  for (std::size_t i = 0; i < s->sizes.size(); ++i)
    if (s->sizes[i] > 1 && s->strides[i] != packed.strides[i]) return false;
  s->strides = packed.strides;
  return packed.sizes[0] * packed.strides[0] <= std::numeric_limits<int>::max();
}

/// Returns nothing for convolutions not given to MIOpen.
std::optional<Convolution> packed_convolution(const tern_device_op& op) {
  std::optional<Convolution> c = convolution_of(op);
  if (c && c->dtype <= kF32 && is_padded_alike(*c) && pack(&c->x) && pack(&c->w) && pack(&c->y)) return c;
  return std::nullopt;
}

/// Returns an empty object if the library refuses the tensor.
Object tensor(const MiopenApi& api, const Shape& s, int type) {
  const std::optional<Ints> sizes = ints(s.sizes), strides = ints(s.strides);
  MiopenTensor made = nullptr;
  Object object(nullptr, api.tensor_destroy);
  if (!sizes || !strides || api.tensor_create(&made) != kSuccess) return object;
  object.reset(made);
  if (api.tensor_set(made, type, static_cast<int>(sizes->size()), sizes->data(), strides->data()) != kSuccess)
    object.reset();
  return object;
}

Object window(const MiopenApi& api, const Convolution& c) {
  const std::optional<Ints> padding = ints(c.padding_before), strides = ints(c.strides), dilations = ints(c.dilations);
  MiopenConvolution made = nullptr;
  Object object(nullptr, api.convolution_destroy);
  if (!padding || !strides || !dilations || api.convolution_create(&made) != kSuccess) return object;
  object.reset(made);
  const auto groups = static_cast<int>(c.x.sizes[1] / c.w.sizes[1]);
  if (api.convolution_set(made, static_cast<int>(padding->size()), padding->data(), strides->data(), dilations->data(),
                          miopen::kConvolution) != kSuccess ||
      api.convolution_groups(made, groups) != kSuccess)
    object.reset();
  return object;
}

int type_of(const Convolution& c) {
  return c.dtype == kF16 ? miopen::kHalf : c.dtype == kBf16 ? miopen::kBfloat16 : miopen::kFloat;
}

struct MiopenPlan {
  Object x, w, y, window;
  MiopenSolution solution;
};

/// Returns the fastest solution with a small workspace and successful compilation. The library's lock is held.
std::unique_ptr<MiopenPlan> make_plan(const Miopen& m, const Convolution& c) {
  const int type = type_of(c);
  auto plan = std::make_unique<MiopenPlan>(
      MiopenPlan{tensor(m.api, c.x, type), tensor(m.api, c.w, type), tensor(m.api, c.y, type), window(m.api, c), {}});
  if (!plan->x || !plan->w || !plan->y || !plan->window) return nullptr;
  MiopenSolution all[kMaxSolutions];
  std::size_t count = 0;
  if (m.api.solutions(m.handle, plan->w.get(), plan->x.get(), plan->window.get(), plan->y.get(), kMaxSolutions, &count,
                      all) != kSuccess)
    return nullptr;
  std::stable_sort(all, all + count, [](const auto& a, const auto& b) { return a.time < b.time; });
  for (std::size_t i = 0; i < count; ++i) {
    if (all[i].workspace > kMaxWorkspace ||
        m.api.compile(m.handle, plan->w.get(), plan->x.get(), plan->window.get(), plan->y.get(), all[i].id) != kSuccess)
      continue;
    plan->solution = all[i];
    return plan;
  }
  return nullptr;
}

class MiopenConvolutionNode : public VendorKernel {
 public:
  MiopenConvolutionNode(Miopen& library, Convolution c, std::unique_ptr<MiopenPlan> plan, Function end)
      : library_(library), c_(std::move(c)), plan_(std::move(plan)), end_(end) {}

  std::uint64_t scratch_bytes() const override {
    const std::uint64_t bytes = plan_->solution.workspace;
    return bytes == 0 ? 0 : bytes + kScratchAlignment;
  }

  tern_device_status run(Stream stream, const tern_device_op& op, Address scratch) override {
    TERN_GPU_TRY(convolve(stream, op, scratch));
    if (end_ == nullptr) return TERN_DEVICE_OK;
    return end_convolution(end_, stream, c_, c_.has_bias ? op.inputs[2].data : 0, op.outputs[0].data);
  }

 private:
  tern_device_status convolve(Stream stream, const tern_device_op& op, Address scratch) {
    const auto pointer = [](Address address) { return reinterpret_cast<void*>(address); };
    const std::size_t bytes = plan_->solution.workspace;
    void* workspace = bytes == 0 ? nullptr : pointer(aligned(scratch, kScratchAlignment));
    const std::lock_guard lock(library_.lock);
    TERN_GPU_TRY(miopen_checked(library_.api.set_stream(library_.handle, stream), "setting the stream"));
    return miopen_checked(
        library_.api.convolve(library_.handle, plan_->w.get(), pointer(op.inputs[1].data), plan_->x.get(),
                              pointer(op.inputs[0].data), plan_->window.get(), plan_->y.get(),
                              pointer(op.outputs[0].data), workspace, bytes, plan_->solution.id),
        "a convolution");
  }

  Miopen& library_;
  const Convolution c_;
  const std::unique_ptr<MiopenPlan> plan_;
  const Function end_;  ///< null without bias and ReLU
};

}  // namespace

bool has_convolution(const tern_device_op& op) {
  return packed_convolution(op).has_value();
}

std::unique_ptr<VendorKernel> prepare_convolution(const GpuDevice& d, const tern_device_op& op, Activation activation) {
  std::optional<Convolution> c = packed_convolution(op);
  if (!c || activation == Activation::gelu) return nullptr;
  c->has_relu = activation == Activation::relu;
  Miopen& library = miopen_of(d);
  if (!library.why.empty()) return nullptr;
  Function end = nullptr;
  if (c->has_bias || c->has_relu) {
    end = convolution_end(d, *c);
    if (end == nullptr) return nullptr;
  }
  const std::lock_guard lock(library.lock);
  std::unique_ptr<MiopenPlan> plan = make_plan(library, *c);
  return plan == nullptr ? nullptr
                         : std::make_unique<MiopenConvolutionNode>(library, *std::move(c), std::move(plan), end);
}

}  // namespace tern::gpu
