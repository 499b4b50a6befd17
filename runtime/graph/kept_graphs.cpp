#include "runtime/graph/kept_graphs.h"

#include <tern/error.h>

#include <algorithm>
#include <string_view>

#include "platform/environment.h"
#include "runtime/devices/stream.h"
#include "schema/op_record.h"

namespace tern {
namespace {

constexpr std::size_t kFewSteps = 4;     // fewer steps gain nothing from a graph
constexpr int kRunsBefore = 2;           // runs before recording: they compile kernels and show stable addresses
constexpr std::size_t kMaxVariants = 4;  // most address variants, for callers alternating between a few buffers
constexpr int kMaxRecorded = 16;         // most graphs made, for devices that refuse to change addresses

bool device_graphs_enabled() {
  return platform::variable_is_on("TERN_DEVICE_GRAPHS", true);
}

/// Excludes factorizations: graphs would use Tern's kernels (docs/devices.md), and a library's results have other bits.
bool is_factorization(Op op) {
  constexpr Op kOps[] = {Op::cholesky, Op::eigh, Op::lu_factor, Op::qr, Op::svd};
  return std::ranges::find(kOps, op) != std::end(kOps);
}

bool can_record(const PlanStep& step) {
  if (step.kind == PlanStep::Kind::copy) return true;
  if (step.kind != PlanStep::Kind::kernel) return false;
  const Node& n = *step.resolved;
  return !has_trait(n.op, Trait::effect) && !has_trait(n.op, Trait::data_sized) && n.dims(AttrKey::symbols).empty() &&
         !is_factorization(n.op);
}

}  // namespace

std::unique_ptr<KeptGraphs> KeptGraphs::create(const SectionPlan& plan, std::uint32_t function,
                                               const SessionContext& context) {
  if (context.stream->graphs() == nullptr || !device_graphs_enabled()) return nullptr;
  auto graphs = std::make_unique<KeptGraphs>();
  graphs->plan_ = &plan;
  graphs->function_ = function;
  const std::vector<PlanStep>& steps = plan.steps;
  for (std::size_t begin = 0; begin < steps.size();) {
    std::size_t end = begin;
    while (end < steps.size() && can_record(steps[end])) ++end;
    if (end - begin >= kFewSteps) {
      Span span;
      span.begin = begin;
      span.end = end;
      span.first = steps[begin].args;
      for (std::size_t i = begin; i < end; ++i) {
        span.first = std::min<std::size_t>(span.first, steps[i].args);
        span.last = std::max<std::size_t>(span.last, steps[i].args + steps[i].inputs + steps[i].outputs);
      }
      graphs->spans_.push_back(std::move(span));
    }
    begin = std::max(end, begin + 1);
  }
  return graphs->spans_.empty() ? nullptr : std::move(graphs);
}

bool KeptGraphs::can_begin_at(std::size_t step) const {
  return std::ranges::find(spans_, step, &Span::begin) != spans_.end();
}

KeptGraphs::Variant& KeptGraphs::variant(Span& span, const std::vector<TensorView>& args, const std::byte* scratch) {
  const auto same = [&](const Variant& v) {
    if (v.addresses.back() != scratch) return false;
    for (std::size_t i = span.first; i < span.last; ++i) {
      if (v.addresses[i - span.first] != args[i].data) return false;
    }
    return true;
  };
  const auto known = std::ranges::find_if(span.variants, same);
  if (known != span.variants.end()) return *known;
  if (span.variants.size() == kMaxVariants) {
    const auto oldest = std::ranges::min_element(span.variants, std::less<>(), &Variant::last);
    if (span.moving.graph == nullptr && oldest->graph != nullptr) span.moving = std::move(*oldest);
    span.variants.erase(oldest);
  }
  Variant& added = span.variants.emplace_back();
  for (std::size_t i = span.first; i < span.last; ++i) added.addresses.push_back(args[i].data);
  added.addresses.push_back(scratch);
  return added;
}

void KeptGraphs::record(SessionContext& context, Span& span, Variant& v,
                        const std::function<void(const PlanStep&)>& enqueue) {
  ++span.recorded;
  const std::uint64_t before = context.bytes_copied;
  try {
    v.graph = context.stream->graphs()->record([&] {
      for (std::size_t i = span.begin; i < span.end; ++i) enqueue(plan_->steps[i]);
    });
  } catch (const Error&) {
    // No step has run: a kernel waits or allocates, or the device refuses. A broken device fails again in the single
    // steps.
  }
  v.bytes_copied = context.bytes_copied - before;
  context.bytes_copied = before;
  span.fails = v.graph == nullptr;
}

bool KeptGraphs::move(SessionContext& context, Span& span, const Variant& v,
                      const std::function<void(const PlanStep&)>& enqueue) {
  Variant& m = span.moving;
  if (m.graph != nullptr && m.addresses == v.addresses) return true;
  m.addresses = v.addresses;
  if (m.graph != nullptr) {
    const std::uint64_t before = context.bytes_copied;
    bool moved = false;
    try {
      moved = context.stream->graphs()->update(*m.graph, [&] {
        for (std::size_t i = span.begin; i < span.end; ++i) enqueue(plan_->steps[i]);
      });
    } catch (const Error&) {
      // No step has run, as in record().
    }
    context.bytes_copied = before;
    if (moved) return true;
    m.graph = nullptr;
  }
  if (span.recorded < kMaxRecorded) record(context, span, m, enqueue);
  return m.graph != nullptr;
}

bool KeptGraphs::run_timed(SessionContext& context, const std::vector<TensorView>& args, const Span& span, Variant& v,
                           const std::function<void(const PlanStep&)>& enqueue) const {
  if (v.timed == nullptr) v.timed = std::make_unique<TimedGraph>();
  const std::uint64_t before = context.bytes_copied;
  const bool launched = v.timed->launch(context, [&](GraphWorkList& list) {
    for (std::size_t i = span.begin; i < span.end; ++i) {
      const PlanStep& step = plan_->steps[i];
      list.enter(function_, &step, args.data() + step.args,
                 [&context, &step, function = function_] { return describe(*context.prepared, function, step.node); });
      enqueue(step);
    }
    v.bytes_copied = context.bytes_copied - before;
  });
  context.bytes_copied = before + (launched ? v.bytes_copied : 0);
  return launched;
}

std::size_t KeptGraphs::run(SessionContext& context, const std::vector<TensorView>& args, std::size_t step,
                            const std::function<void(const PlanStep&)>& enqueue) {
  const auto found = std::ranges::find(spans_, step, &Span::begin);
  if (found == spans_.end()) return 0;
  Span& span = *found;
  const bool full = span.fails || span.recorded >= kMaxRecorded;
  const auto has_graph = [](const Variant& v) { return v.graph != nullptr; };
  if (full && !has_graph(span.moving) && std::ranges::none_of(span.variants, has_graph)) return 0;
  Variant& v = variant(span, args, context.scratch.data());
  v.last = ++clock_;
  span.run_count = std::min(span.run_count, kRunsBefore) + 1;
  if (context.trace != nullptr) {
    const bool is_due = has_graph(v) || ++v.run_count > kRunsBefore;
    return is_due && run_timed(context, args, span, v, enqueue) ? span.end - span.begin : 0;
  }
  if (v.graph == nullptr && ++v.run_count > kRunsBefore) {
    if (has_graph(span.moving) && span.moving.addresses == v.addresses) {
      v.graph = std::move(span.moving.graph);
      v.bytes_copied = span.moving.bytes_copied;
    } else if (!full) {
      record(context, span, v, enqueue);
    }
  }
  Variant* runs = has_graph(v) ? &v : nullptr;
  if (runs == nullptr && span.run_count > kRunsBefore && !span.fails && context.stream->graphs()->updates() &&
      move(context, span, v, enqueue))
    runs = &span.moving;
  if (runs == nullptr) return 0;
  context.bytes_copied += runs->bytes_copied;
  runs->graph->launch();
  return span.end - span.begin;
}

}  // namespace tern
