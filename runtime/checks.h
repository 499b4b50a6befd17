// A program's checks with booleans still in flight from a device: one wait answers several checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/context.h"
#include "runtime/plan/plan.h"

namespace tern {

/// Pending checks of one plan's steps. Checks are answered before the run changes lasting data (state, inputs, other
/// ranks), and before the host acts on other values.
class PendingChecks {
 public:
  explicit PendingChecks(SessionContext& context) : context_(context) {}
  /// Returns false if the check must be answered at once.
  bool add(const TensorView& value, const PlanStep& step);
  /// True if the step requires answers to all earlier checks.
  bool must_settle_before(const SectionPlan& plan, const PlanStep& step) const;
  bool empty() const { return pending_.empty(); }
  /// Waits. Fails with the first false check; `describe` formats a node's location.
  void settle(const std::function<std::string(std::uint32_t)>& describe);

 private:
  SessionContext& context_;
  std::vector<const PlanStep*> pending_;
};

}  // namespace tern
