#include "runtime/checks.h"

#include <tern/error.h>

#include <algorithm>
#include <span>
#include <utility>

#include "runtime/devices/device.h"
#include "runtime/devices/stream.h"
#include "schema/op_record.h"

namespace tern {
namespace {

constexpr std::size_t kMaxPendingChecks = 64;

/// True if the step writes memory outliving the run: state or an input.
bool writes_what_stays(const SectionPlan& plan, const PlanStep& step) {
  const auto results = std::span(plan.locations).subspan(step.args + step.inputs, step.outputs);
  return std::ranges::any_of(
      results, [](const Location& at) { return at.kind == Location::Kind::state || at.kind == Location::Kind::input; });
}

}  // namespace

bool PendingChecks::add(const TensorView& value, const PlanStep& step) {
  if (context_.device().traits().host_memory || context_.is_watched() || pending_.size() == kMaxPendingChecks)
    return false;
  context_.answers.reserve(kMaxPendingChecks, context_.device());
  context_.stream->enqueue_download(context_.answers.data() + pending_.size(), value.data, 1);
  pending_.push_back(&step);
  return true;
}

bool PendingChecks::must_settle_before(const SectionPlan& plan, const PlanStep& step) const {
  if (pending_.empty()) return false;
  if (step.kind == PlanStep::Kind::assert_true) return pending_.size() == kMaxPendingChecks;
  if (step.kind == PlanStep::Kind::control || step.kind == PlanStep::Kind::item) return true;
  const bool acts = step.kind == PlanStep::Kind::kernel &&
                    (has_trait(step.resolved->op, Trait::effect) || has_trait(step.resolved->op, Trait::data_sized));
  return acts || writes_what_stays(plan, step);
}

void PendingChecks::settle(const std::function<std::string(std::uint32_t)>& describe) {
  if (pending_.empty()) return;
  context_.stream->synchronize();
  const std::vector<const PlanStep*> answered = std::exchange(pending_, {});
  for (std::size_t i = 0; i < answered.size(); ++i) {
    if (context_.answers.data()[i] != std::byte{0}) continue;
    fail(ErrorCode::runtime,
         describe(answered[i]->node) + ": the program's check failed: " + answered[i]->resolved->text(AttrKey::text));
  }
}

}  // namespace tern
