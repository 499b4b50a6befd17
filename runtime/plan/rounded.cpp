// Finds float32 values to store as bfloat16: values rounded to bfloat16 first by every reader. Results keep their bits,
// and memory traffic halves.
#include <algorithm>
#include <array>
#include <optional>

#include "runtime/plan/passes.h"
#include "runtime/plan/views.h"
#include "schema/op_record.h"

namespace tern {
namespace {

constexpr std::size_t kMaxOperands = 32;

/// Constants and their views with bytes; other values with sizes as far as known.
class ConstantViews {
 public:
  explicit ConstantViews(Draft& d) : d_(d), views_(d.f.values.size()) {
    for (const FunctionInput& in : d.f.inputs) add_constant(in.value);
    for (std::uint32_t i = d.section.begin; i < d.section.end; ++i) {
      const Node& n = d.node(i);
      if (is_view(n.op) && n.outputs[0] != kNoValue) add_view(n);
    }
  }
  TensorView operator()(ValueId v) const {
    if (v == kNoValue) return {};
    const TensorView& view = views_[static_cast<std::size_t>(v)];
    if (view.data != nullptr) return view;
    return has_known_sizes(v) ? d_.concrete.view(d_.type(v)) : TensorView{};
  }
  bool has_known_sizes(ValueId v) const { return v == kNoValue || d_.concrete.has_known_sizes(d_.type(v)); }

 private:
  void add_constant(ValueId v) {
    const std::byte* bytes = d_.constant_bytes(v);
    if (bytes == nullptr) return;
    TensorView& view = views_[static_cast<std::size_t>(v)];
    view = d_.placed(v).view;
    view.data = const_cast<std::byte*>(bytes);
  }
  void add_view(const Node& n) {
    const TensorView& from = views_[static_cast<std::size_t>(n.inputs[0])];
    const ValueId v = n.outputs[0];
    if (from.data == nullptr || !has_known_sizes(v)) return;
    TensorView view = d_.concrete.view(d_.type(v));
    std::int64_t offset = 0;
    if (!apply_view(n, from, &view, &offset)) return;
    view.data = from.data + offset;
    views_[static_cast<std::size_t>(v)] = view;
  }

  Draft& d_;
  std::vector<TensorView> views_;
};

/// A node's call, as far as known before placement.
class PlannedCall {
 public:
  PlannedCall(const Draft& d, const ConstantViews& views, std::uint32_t i) {
    const Node& n = d.node(i);
    for (ValueId v : n.inputs) {
      in_.push_back(views(v));
      constant_[in_.size() - 1] = in_.back().data != nullptr;
    }
    for (ValueId v : n.outputs) out_.push_back(views(v));
    const auto has_known_sizes = [&](ValueId v) { return views.has_known_sizes(v); };
    has_known_sizes_ =
        std::ranges::all_of(n.inputs, has_known_sizes) && std::ranges::all_of(n.outputs, has_known_sizes);
    call_.node = &n;
    call_.in = in_;
    call_.out = out_;
    call_.constant = constant_.data();
    call_.precision = d.prepared.precision(n);
    call_.intensity = d.intensity;
    call_.algorithm = d.prepared.algorithm(d.request.key.function, i, d.request.key.threads);
  }
  bool has_known_sizes() const { return has_known_sizes_; }
  const KernelCall& call() const { return call_; }

 private:
  std::vector<TensorView> in_, out_;
  std::array<bool, kMaxOperands> constant_{};
  KernelCall call_;
  bool has_known_sizes_ = false;
};

}  // namespace

void find_rounded(Draft& d) {
  if (!d.prepared.rounds || !d.section_parts.empty()) return;
  const auto index = [](ValueId v) { return static_cast<std::size_t>(v); };
  d.rounded.assign(d.f.values.size(), false);
  const ConstantViews views(d);
  std::vector<bool> needs_float32(d.f.values.size());  // true if some reader needs float32
  for (std::uint32_t i = d.section.end; i-- > d.section.begin;) {
    const Node& n = d.node(i);
    const bool host = has_trait(n.op, Trait::host), view = is_view(n.op);
    const Kernel* kernel = host || view ? nullptr : &d.prepared.kernels->kernels[static_cast<std::size_t>(n.op)];
    const bool concerned = kernel != nullptr && (kernel->rounds != nullptr || kernel->stores_rounded != nullptr) &&
                           n.inputs.size() <= kMaxOperands;
    std::optional<PlannedCall> call;
    if (concerned) call.emplace(d, views, i);
    const ValueId result = n.outputs.empty() ? kNoValue : n.outputs[0];
    if (result != kNoValue && !view) {
      const std::uint32_t last = d.last_use[index(result)];
      d.rounded[index(result)] = concerned && call->has_known_sizes() && kernel->stores_rounded != nullptr &&
                                 !needs_float32[index(result)] && d.type(result).dtype == DType::f32 &&
                                 last != kNeverUsed && last <= d.section.end && kernel->stores_rounded(call->call());
    }
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      const ValueId v = n.inputs[k];
      if (v == kNoValue) continue;
      const bool passes =
          view && n.op != Op::bitcast &&
          (result == kNoValue || (!needs_float32[index(result)] && d.last_use[index(result)] <= d.section.end));
      const bool rounds =
          concerned && kernel->rounds != nullptr && call->has_known_sizes() && kernel->rounds(call->call(), k);
      if (!passes && !rounds) needs_float32[index(v)] = true;
    }
  }
}

}  // namespace tern
