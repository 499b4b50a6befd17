// A program's checks whose booleans are under way from a device: one wait answers several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/context.h"
#include "runtime/plan/plan.h"

namespace tern {

/// Of the steps of one plan. A check is answered before the run changes what outlives it (state, inputs, other ranks),
/// and before the host acts upon other values.
class PendingChecks {
 public:
  explicit PendingChecks(SessionContext& context) : context_(context) {}
  /// False where the check has to be answered at once.
  bool add(const TensorView& value, const Step& step);
  /// Whether the checks before must be answered first.
  bool must_settle_before(const Plan& plan, const Step& step) const;
  bool empty() const { return pending_.empty(); }
  /// Waits. Fails with the first check that does not hold; `describe`: where a node stands.
  void settle(const std::function<std::string(std::uint32_t)>& describe);

 private:
  SessionContext& context_;
  std::vector<const Step*> pending_;
};

}  // namespace tern
