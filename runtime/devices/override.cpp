#include "runtime/devices/override.h"

#include <algorithm>
#include <list>
#include <vector>

#include "kernels/portable/launches.h"
#include "runtime/devices/stream.h"

namespace tern {
namespace {

Device& device_of(const KernelCall& call) {
  return static_cast<DeviceStream*>(call.device)->device();
}

tern_device_tensor tensor_of(const TensorView& v, bool with_address) {
  tern_device_tensor t{};
  if (v.dtype == DType::invalid) return t;
  t.data = with_address ? reinterpret_cast<tern_device_address>(v.data) : 0;
  t.dtype = static_cast<std::int32_t>(v.dtype);
  t.rank = v.rank;
  static_assert(kMaxRank <= TERN_DEVICE_MAX_RANK);
  std::copy_n(v.sizes.begin(), v.rank, t.sizes);
  std::copy_n(v.strides.begin(), v.rank, t.strides);
  return t;
}

/// A node as a plugin sees it.
class OpDescription {
 public:
  explicit OpDescription(const KernelCall& call) {
    const OpInfo& info = op_info(call.node->op);
    op_.size = sizeof op_;
    op_.version = static_cast<std::uint32_t>(info.version);
    op_.name = info.name.data();  // of a table of literals: a zero follows
    for (const Attr& a : call.node->attrs) add(a);
    tensors_.resize(call.in.size() + call.out.size());
    op_.input_count = static_cast<std::int32_t>(call.in.size());
    op_.output_count = static_cast<std::int32_t>(call.out.size());
    op_.attribute_count = static_cast<std::int32_t>(attributes_.size());
    op_.inputs = tensors_.data();
    op_.outputs = tensors_.data() + call.in.size();
    op_.attributes = attributes_.data();
    fill(call, false);
  }
  OpDescription(const OpDescription&) = delete;
  OpDescription& operator=(const OpDescription&) = delete;

  const tern_device_op& op() const { return op_; }
  void fill(const KernelCall& call, bool with_addresses) {
    std::size_t k = 0;
    for (const TensorView& v : call.in) tensors_[k++] = tensor_of(v, with_addresses);
    for (const TensorView& v : call.out) tensors_[k++] = tensor_of(v, with_addresses);
  }

 private:
  void add(const Attr& a) {
    tern_device_attribute t{};
    t.name = attr_name(a.key).data();
    if (const auto* dims = std::get_if<Dims>(&a.data)) {
      std::vector<std::int64_t>& values = integers_.emplace_back();
      for (Dim d : *dims) values.push_back(d.value());
      t.kind = TERN_ATTRIBUTE_INTEGERS;
      t.count = static_cast<std::int32_t>(values.size());
      t.integers = values.data();
    } else if (const auto* numbers = std::get_if<std::vector<double>>(&a.data)) {
      t.kind = TERN_ATTRIBUTE_NUMBERS;
      t.count = static_cast<std::int32_t>(numbers->size());
      t.numbers = numbers->data();
    } else if (const auto* text = std::get_if<std::string>(&a.data)) {
      t.kind = TERN_ATTRIBUTE_TEXT;
      t.count = static_cast<std::int32_t>(text->size());
      t.text = text->c_str();
    } else {
      return;
    }
    attributes_.push_back(t);
  }

  tern_device_op op_{};
  std::vector<tern_device_tensor> tensors_;
  std::vector<tern_device_attribute> attributes_;
  std::list<std::vector<std::int64_t>> integers_;
};

/// What a node keeps: the plugin's, or the portable kernel's.
struct OverrideState : KernelState {
  explicit OverrideState(const KernelCall& call) : device(device_of(call)), description(call) {}
  ~OverrideState() override {
    if (handle == nullptr) return;
    device.wait();
    device.overrides()->release(device.index(), handle);
  }
  Device& device;
  OpDescription description;
  tern_device_override handle = nullptr;
  std::uint64_t scratch = 0;
};

const Kernel& portable_kernel(const KernelCall& call) {
  return portable_kernels().kernels[static_cast<std::size_t>(call.node->op)];
}

std::unique_ptr<KernelState> prepare(const KernelCall& call) {
  auto state = std::make_unique<OverrideState>(call);
  const tern_device_status status = state->device.overrides()->prepare(state->device.index(), &state->description.op(),
                                                                       &state->handle, &state->scratch);
  if (status == TERN_DEVICE_OK && state->handle != nullptr) return state;
  if (status != TERN_DEVICE_UNSUPPORTED) state->device.check(status, "preparing a kernel of its own");
  state->handle = nullptr;
  const Kernel& kernel = portable_kernel(call);
  return kernel.prepare == nullptr ? nullptr : kernel.prepare(call);
}

std::size_t scratch(const KernelCall& call) {
  if (const auto* state = dynamic_cast<const OverrideState*>(call.state)) return state->scratch;
  const Kernel& kernel = portable_kernel(call);
  return kernel.scratch == nullptr ? 0 : kernel.scratch(call);
}

void run(KernelCall& call) {
  auto* state = dynamic_cast<OverrideState*>(call.state);
  if (state == nullptr) return portable_kernel(call).run(call);
  state->description.fill(call, true);
  state->device.check(state->device.overrides()->run(
                          state->device.index(), static_cast<DeviceStream*>(call.device)->handle(), state->handle,
                          &state->description.op(), reinterpret_cast<tern_device_address>(call.scratch.data())),
                      "running a kernel of its own");
}

/// Ops that are more than a function of their operands, or whose results the kernel sizes, are not offered.
bool is_offered(Op op) {
  switch (op) {
    case Op::pointwise:
    case Op::random:
    case Op::custom:
    case Op::nonzero:
    case Op::unique:
    case Op::masked_select:
    case Op::repeat_interleave:
    case Op::bincount:
    case Op::nms: return false;
    default: return true;
  }
}

KernelTable make_table() {
  KernelTable table = portable_kernels();
  for (std::size_t i = 0; i < std::size(table.kernels); ++i) {
    Kernel& kernel = table.kernels[i];
    if (kernel.run == nullptr || !is_offered(static_cast<Op>(i))) continue;
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
