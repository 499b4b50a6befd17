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

constexpr std::size_t kMostOperands = 32;

/// Constants and their views with bytes; other values with sizes as far as known.
class Seen {
 public:
  explicit Seen(Draft& d) : d_(d), views_(d.f.values.size()) {
    for (const FunctionInput& in : d.f.inputs) see_constant(in.value);
    for (std::uint32_t i = d.section.begin; i < d.section.end; ++i) {
      const Node& n = d.node(i);
      if (is_view(n.op) && n.outputs[0] != kNoValue) follow(n);
    }
  }
  TensorView operator()(ValueId v) const {
    if (v == kNoValue) return {};
    const TensorView& view = views_[static_cast<std::size_t>(v)];
    if (view.data != nullptr) return view;
    return known(v) ? d_.concrete.view(d_.type(v)) : TensorView{};
  }
  bool known(ValueId v) const { return v == kNoValue || d_.concrete.known(d_.type(v)); }

 private:
  void see_constant(ValueId v) {
    const std::byte* bytes = d_.constant_bytes(v);
    if (bytes == nullptr) return;
    TensorView& view = views_[static_cast<std::size_t>(v)];
    view = d_.placed(v).view;
    view.data = const_cast<std::byte*>(bytes);
  }
  void follow(const Node& n) {
    const TensorView& from = views_[static_cast<std::size_t>(n.inputs[0])];
    const ValueId v = n.outputs[0];
    if (from.data == nullptr || !known(v)) return;
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
class Ask {
 public:
  Ask(const Draft& d, const Seen& seen, std::uint32_t i) {
    const Node& n = d.node(i);
    for (ValueId v : n.inputs) {
      in_.push_back(seen(v));
      constant_[in_.size() - 1] = in_.back().data != nullptr;
    }
    for (ValueId v : n.outputs) out_.push_back(seen(v));
    const auto known = [&](ValueId v) { return seen.known(v); };
    known_ = std::ranges::all_of(n.inputs, known) && std::ranges::all_of(n.outputs, known);
    call_.node = &n;
    call_.in = in_;
    call_.out = out_;
    call_.constant = constant_.data();
    call_.precision = d.prepared.precision(n);
    call_.intensity = d.intensity;
    call_.algorithm = d.prepared.algorithm(d.request.key.function, i, d.request.key.threads);
  }
  bool known() const { return known_; }
  const KernelCall& call() const { return call_; }

 private:
  std::vector<TensorView> in_, out_;
  std::array<bool, kMostOperands> constant_{};
  KernelCall call_;
  bool known_ = false;
};

}  // namespace

void find_rounded(Draft& d) {
  if (!d.prepared.rounds || !d.parts.empty()) return;
  const auto at = [](ValueId v) { return static_cast<std::size_t>(v); };
  d.rounded.assign(d.f.values.size(), false);
  const Seen seen(d);
  std::vector<bool> kept(d.f.values.size());  // true if some reader needs float32
  for (std::uint32_t i = d.section.end; i-- > d.section.begin;) {
    const Node& n = d.node(i);
    const bool host = has_trait(n.op, Trait::host), view = is_view(n.op);
    const Kernel* kernel = host || view ? nullptr : &d.prepared.kernels->kernels[static_cast<std::size_t>(n.op)];
    const bool concerned = kernel != nullptr && (kernel->rounds != nullptr || kernel->stores_rounded != nullptr) &&
                           n.inputs.size() <= kMostOperands;
    std::optional<Ask> ask;
    if (concerned) ask.emplace(d, seen, i);
    const ValueId made = n.outputs.empty() ? kNoValue : n.outputs[0];
    if (made != kNoValue && !view) {
      const std::uint32_t last = d.last_use[at(made)];
      d.rounded[at(made)] = concerned && ask->known() && kernel->stores_rounded != nullptr && !kept[at(made)] &&
                            d.type(made).dtype == DType::f32 && last != kNeverUsed && last <= d.section.end &&
                            kernel->stores_rounded(ask->call());
    }
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      const ValueId v = n.inputs[k];
      if (v == kNoValue) continue;
      const bool passes = view && n.op != Op::bitcast &&
                          (made == kNoValue || (!kept[at(made)] && d.last_use[at(made)] <= d.section.end));
      const bool rounds = concerned && kernel->rounds != nullptr && ask->known() && kernel->rounds(ask->call(), k);
      if (!passes && !rounds) kept[at(v)] = true;
    }
  }
}

}  // namespace tern
