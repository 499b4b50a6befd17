#include "runtime/devices/plugin/override.h"

#include <tern/error.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <mutex>
#include <optional>
#include <vector>

#include "kernels/portable/definitions.h"
#include "runtime/devices/plugin/device.h"
#include "runtime/devices/plugin/op_description.h"
#include "schema/op_record.h"

namespace tern {
namespace {

const Kernel& portable_kernel(const KernelCall& call) {
  return faster_portable_kernels().kernels[static_cast<std::size_t>(call.node->op)];
}

/// Ops with overrides that may leave matrices to the portable kernels; the portable kernels then take an extra operand
/// (kernels/portable/linalg.h).
bool factors_matrices(Op op) {
  constexpr Op kOps[] = {Op::cholesky, Op::eigh, Op::lu_factor, Op::qr, Op::svd};
  return std::ranges::find(kOps, op) != std::end(kOps);
}

/// Portable kernel for the matrices left over by an override.
class LeftoverKernel {
 public:
  /// Returns false if the device has no such kernel: compilation is forbidden, and the archive has kernels of whole
  /// nodes only.
  bool prepare(const KernelCall& call) {
    views_.assign(call.in.begin(), call.in.end());
    TensorView& unfinished = views_.emplace_back();
    unfinished.dtype = DType::i32;
    unfinished.rank = call.in[0].rank - 2;
    std::ranges::copy_n(call.in[0].sizes.begin(), unfinished.rank, unfinished.sizes.begin());
    make_contiguous(unfinished);
    unfinished_bytes_ = (static_cast<std::size_t>(unfinished.numel()) * sizeof(std::int32_t) + kAlignment - 1) /
                        kAlignment * kAlignment;
    KernelCall extended_call = extended_call_of(call);
    try {
      state_ = portable_kernel(call).prepare(extended_call);
    } catch (const Error&) {
      return false;
    }
    extended_call.state = state_.get();
    scratch_ = portable_kernel(call).scratch(extended_call);
    return true;
  }
  std::size_t scratch() const { return scratch_; }
  /// Size of the override's output at the start of the node's scratch memory.
  std::size_t unfinished_bytes() const { return unfinished_bytes_; }
  void run(const KernelCall& call) {
    std::ranges::copy(call.in, views_.begin());
    views_.back().data = call.scratch.data();
    KernelCall extended_call = extended_call_of(call);
    extended_call.scratch = call.scratch.subspan(unfinished_bytes_);
    extended_call.state = state_.get();
    portable_kernel(call).run(extended_call);
  }

 private:
  static constexpr std::size_t kAlignment = 256;

  KernelCall extended_call_of(const KernelCall& call) {
    KernelCall extended_call = call;
    extended_call.in = views_;
    return extended_call;
  }

  std::vector<TensorView> views_;  ///< operands of a call, then `unfinished`
  std::unique_ptr<const KernelState> state_;
  std::size_t unfinished_bytes_ = 0, scratch_ = 0;
};

/// The interface forbids concurrent runs of one override: a run waits until another session has enqueued its own.
class Override : public portable::OwnKernel {
 public:
  Override(PluginDevice& device, const KernelCall& call)
      : device_(device), functions_(*device.tables().overrides), description_(*call.node, call.in, call.out) {
    description_.set_precision(call.precision);
  }
  ~Override() override {
    if (handle_ == nullptr) return;
    device_.wait();
    functions_.release(device_.index(), handle_);
  }
  Override(const Override&) = delete;
  Override& operator=(const Override&) = delete;

  /// Returns false if the device refuses the node.
  bool prepare(const KernelCall& call) {
    const tern_device_status status = functions_.prepare(device_.index(), &description_.op(), &handle_, &scratch_);
    if (status != TERN_DEVICE_OK) {
      handle_ = nullptr;
      if (status != TERN_DEVICE_UNSUPPORTED) device_.check(status, "preparing its own kernel");
      return false;
    }
    if (handle_ == nullptr || functions_.run_matrices == nullptr || !factors_matrices(call.node->op))
      return handle_ != nullptr;
    return unfinished_kernel_.emplace().prepare(call);
  }
  std::size_t scratch() const override {
    return unfinished_kernel_
               ? unfinished_kernel_->unfinished_bytes() + std::max<std::size_t>(scratch_, unfinished_kernel_->scratch())
               : scratch_;
  }
  void run(const KernelCall& call) const override {
    const std::lock_guard lock(mutex_);
    description_.fill(call.in, call.out, true);
    const auto stream = std::bit_cast<tern_device_stream>(call.launcher->use_stream());
    const auto scratch = reinterpret_cast<tern_device_address>(call.scratch.data());
    if (!unfinished_kernel_) {
      device_.check(functions_.run(device_.index(), stream, handle_, &description_.op(), scratch), kRunning);
      return;
    }
    device_.check(functions_.run_matrices(device_.index(), stream, handle_, &description_.op(),
                                          scratch + unfinished_kernel_->unfinished_bytes(), scratch),
                  kRunning);
    unfinished_kernel_->run(call);
  }

 private:
  static constexpr const char* kRunning = "running its own kernel";

  PluginDevice& device_;
  const tern_device_override_functions& functions_;
  mutable std::mutex mutex_;
  mutable OpDescription description_;
  mutable std::optional<LeftoverKernel> unfinished_kernel_;
  tern_device_override handle_ = nullptr;
  std::uint64_t scratch_ = 0;
};

/// State of a node: the device's own kernel or the portable kernel's state.
struct OverrideState : KernelState {
  std::unique_ptr<const portable::OwnKernel> device_kernel;
  std::unique_ptr<const KernelState> portable;
};

const OverrideState& state_of(const KernelCall& call) {
  return static_cast<const OverrideState&>(*call.state);
}

KernelCall portable_call(const KernelCall& call) {
  KernelCall result = call;
  result.state = state_of(call).portable.get();
  return result;
}

std::unique_ptr<KernelState> prepare(const KernelCall& call) {
  auto state = std::make_unique<OverrideState>();
  state->device_kernel = call.launcher->own_kernel(call);
  if (state->device_kernel != nullptr) return state;
  if (const Kernel& kernel = portable_kernel(call); kernel.prepare != nullptr) {
    std::unique_ptr<KernelState> portable_state = kernel.prepare(call);
    if (portable_state != nullptr)
      static_cast<KernelState&>(*state) = *portable_state;  // copies the fields read by the planner
    state->portable = std::move(portable_state);
  }
  return state;
}

std::size_t scratch(const KernelCall& call) {
  if (state_of(call).device_kernel != nullptr) return state_of(call).device_kernel->scratch();
  const Kernel& kernel = portable_kernel(call);
  return kernel.scratch == nullptr ? 0 : kernel.scratch(portable_call(call));
}

void run(KernelCall& call) {
  if (const OverrideState& state = state_of(call); state.device_kernel != nullptr)
    return state.device_kernel->run(call);
  KernelCall forwarded = portable_call(call);
  portable_kernel(call).run(forwarded);
}

/// Overrides do not compute expressions: pointwise nodes are offered in partitions only.
bool may_override(Op op) {
  return has_trait(op, Trait::offered) && op != Op::pointwise;
}

KernelTable make_table() {
  KernelTable table = faster_portable_kernels();
  for (std::size_t i = 0; i < std::size(table.kernels); ++i) {
    Kernel& kernel = table.kernels[i];
    if (kernel.run == nullptr || !may_override(static_cast<Op>(i))) continue;
    kernel.prepare = prepare;
    kernel.scratch = scratch;
    kernel.run = run;
  }
  return table;
}

}  // namespace

std::unique_ptr<portable::OwnKernel> prepare_override(PluginDevice& device, const KernelCall& call) {
  if (device.tables().overrides == nullptr) return nullptr;
  // tern_device_tensor cannot describe blocks and scales.
  const auto is_quantized = [](const TensorView& v) { return v.blocks.columns != 0; };
  if (std::ranges::any_of(call.in, is_quantized) || std::ranges::any_of(call.out, is_quantized)) return nullptr;
  // Results inside larger tensors (kernels/portable/library_launches.h).
  const bool accepts_column_views = (device.tables().overrides->flags & TERN_DEVICE_OVERRIDE_COLUMNS) != 0;
  const auto is_contiguous = [](const TensorView& v) { return v.dtype == DType::invalid || v.contiguous(); };
  if (!accepts_column_views && !std::ranges::all_of(call.out, is_contiguous)) return nullptr;
  auto device_kernel = std::make_unique<Override>(device, call);
  if (!device_kernel->prepare(call)) return nullptr;
  return device_kernel;
}

const KernelTable& overridden_kernels() {
  static const KernelTable table = make_table();
  return table;
}

}  // namespace tern
