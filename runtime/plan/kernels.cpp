// Prepares kernels: states, scratch memory, and the weights read by them.
#include <tern/error.h>

#include <algorithm>
#include <new>
#include <set>

#include "runtime/devices/stream.h"
#include "runtime/limits.h"
#include "runtime/plan/layout.h"
#include "runtime/plan/passes.h"
#include "runtime/plan/step_weights.h"

namespace tern {
namespace {

class Preparation {
 public:
  explicit Preparation(Draft& d) : d_(d), plan_(d.plan) {}

  void prepare_all() {
    for (PlanStep& s : plan_.steps) {
      const bool defers = s.kernel != nullptr && s.kernel->defers_weights;
      for (std::uint32_t i = 0; i < s.inputs && !defers; ++i) read(s.args + i);
      if (s.kernel == nullptr || (s.kernel->scratch == nullptr && s.kernel->prepare == nullptr)) continue;
      try {
        d_.run_for_node(s.node, [&] { prepare(s); });
      } catch (const std::bad_alloc&) {
        fail(ErrorCode::out_of_memory,
             describe(d_.prepared, d_.request.key.function, s.node) + ": no memory for its tables");
      }
      plan_.scratch_bytes = std::max(plan_.scratch_bytes, s.scratch);
      for (std::uint32_t i = 0; i < s.inputs && defers; ++i) {
        const bool unread = s.state != nullptr && (s.state->unread >> std::min(i, 31u) & 1) != 0;
        unread ? skip(s.args + i) : read(s.args + i);
      }
    }
    // Packed weights without other readers need not stay in memory.
    for (std::int64_t storage : unread_) {
      if (!read_.contains(storage)) d_.program.source->release(static_cast<std::uint32_t>(storage));
    }
  }

 private:
  void prepare(PlanStep& s) {
    StepWeights weights(d_.prepared, plan_, s);
    KernelCall call = s.call(plan_.args.data() + s.args, plan_.constant.get() + s.args);
    call.weights = &weights;
    call.launcher = &d_.request.stream.launcher();
    call.precision = d_.prepared.precision(*call.node);
    call.intensity = d_.intensity;
    call.algorithm = d_.prepared.algorithm(d_.request.key.function, s.node, d_.request.key.threads);
    if (s.kernel->channels_last == nullptr) report_costs(d_, s.node, call);
    if (s.kernel->prepare != nullptr) s.state = s.kernel->prepare(call);
    call.state = s.state.get();
    table_bytes_ += call.state == nullptr ? 0 : call.state->table_bytes;
    RunLimits().check_memory(table_bytes_, d_.prepared.options);
    if (s.kernel->scratch != nullptr) s.scratch = s.kernel->scratch(call);
    PlanObserver* observer = d_.prepared.listeners.observer;
    if (observer != nullptr && !s.kernel->algorithms.empty() && s.state != nullptr)
      observer->prepared(d_.request.key.function, s.number, *s.kernel, call, s.state->algorithm);
  }

  /// Returns the storage of argument `i` if constant, else -1.
  std::int64_t constant_storage(std::size_t i) const {
    return plan_.constant[i] ? static_cast<std::int64_t>(d_.program.states[plan_.locations[i].index].storage) : -1;
  }
  /// Uploads a constant argument's bytes and checks their hash.
  void read(std::size_t arg) {
    const std::int64_t storage = constant_storage(arg);
    if (storage >= 0 && read_.insert(storage).second) d_.program.source->bytes(static_cast<std::uint32_t>(storage));
  }
  void skip(std::size_t arg) {
    if (constant_storage(arg) >= 0) unread_.insert(constant_storage(arg));
  }

  Draft& d_;
  SectionPlan& plan_;
  std::set<std::int64_t> read_, unread_;  ///< constant storages read by runs, and storages not read
  std::uint64_t table_bytes_ = 0;
};

}  // namespace

void mark_constants(Draft& d) {
  SectionPlan& plan = d.plan;
  plan.constant = std::make_unique<bool[]>(plan.args.size());
  for (std::size_t i = 0; i < plan.args.size(); ++i) {
    const Location& at = plan.locations[i];
    plan.constant[i] = at.kind == Location::Kind::state && d.request.constants[at.index] != nullptr;
    if (plan.constant[i]) plan.args[i].data = d.request.constants[at.index] + at.offset;
  }
}

void prepare_kernels(Draft& d) {
  Preparation(d).prepare_all();
  // Waits: streams of other sessions read tables filled by this stream.
  if (!d.request.stream.idle()) d.request.stream.synchronize();
}

}  // namespace tern
