#include "runtime/devices/override.h"

#include <iterator>
#include <mutex>

#include "kernels/portable/definitions.h"
#include "runtime/devices/op_description.h"
#include "runtime/devices/stream.h"
#include "schema/op_record.h"

namespace tern {
namespace {

/// What a node keeps: the plugin's override, or the portable kernel's state. The interface has threads never run one
/// override at the same time, so a run waits until another session's has been put on its stream.
struct OverrideState : KernelState {
  explicit OverrideState(const KernelCall& call)
      : device(call.device->device_stream()->device()), description(*call.node, call.in, call.out) {}
  ~OverrideState() override {
    if (handle == nullptr) return;
    device.wait();
    device.overrides()->release(device.index(), handle);
  }
  Device& device;
  mutable std::mutex mutex;
  mutable OpDescription description;
  tern_device_override handle = nullptr;  ///< null: the portable kernel runs
  std::uint64_t scratch = 0;
  std::unique_ptr<const KernelState> portable;
};

const OverrideState& state_of(const KernelCall& call) {
  return static_cast<const OverrideState&>(*call.state);
}

const Kernel& portable_kernel(const KernelCall& call) {
  return portable_kernels().kernels[static_cast<std::size_t>(call.node->op)];
}

KernelCall portable_call(const KernelCall& call) {
  KernelCall inner = call;
  inner.state = state_of(call).portable.get();
  return inner;
}

std::unique_ptr<KernelState> prepare(const KernelCall& call) {
  auto state = std::make_unique<OverrideState>(call);
  const tern_device_status status = state->device.overrides()->prepare(state->device.index(), &state->description.op(),
                                                                       &state->handle, &state->scratch);
  if (status == TERN_DEVICE_OK && state->handle != nullptr) return state;
  if (status != TERN_DEVICE_UNSUPPORTED) state->device.check(status, "preparing a kernel of its own");
  state->handle = nullptr;
  if (const Kernel& kernel = portable_kernel(call); kernel.prepare != nullptr) {
    std::unique_ptr<KernelState> inner = kernel.prepare(call);
    if (inner != nullptr) static_cast<KernelState&>(*state) = *inner;  // what the planner reads
    state->portable = std::move(inner);
  }
  return state;
}

std::size_t scratch(const KernelCall& call) {
  if (state_of(call).handle != nullptr) return state_of(call).scratch;
  const Kernel& kernel = portable_kernel(call);
  return kernel.scratch == nullptr ? 0 : kernel.scratch(portable_call(call));
}

void run(KernelCall& call) {
  const OverrideState& state = state_of(call);
  if (state.handle == nullptr) {
    KernelCall inner = portable_call(call);
    return portable_kernel(call).run(inner);
  }
  const std::lock_guard lock(state.mutex);
  state.description.fill(call.in, call.out, true);
  state.device.check(state.device.overrides()->run(state.device.index(), call.device->device_stream()->used(),
                                                   state.handle, &state.description.op(),
                                                   reinterpret_cast<tern_device_address>(call.scratch.data())),
                     "running a kernel of its own");
}

/// An override has no expression to compute: pointwise nodes are offered in partitions only.
bool may_override(Op op) {
  return has_trait(op, Trait::offered) && op != Op::pointwise;
}

KernelTable make_table() {
  KernelTable table = portable_kernels();
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

const KernelTable& device_kernels(const Device& device) {
  static const KernelTable table = make_table();
  return device.overrides() == nullptr ? portable_kernels() : table;
}

}  // namespace tern
