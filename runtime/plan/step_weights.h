// Constant operands of a step, as seen by its kernel's preparation.
#pragma once

#include <optional>

#include "runtime/plan/plan.h"
#include "runtime/prepared.h"

namespace tern {

class StepWeights : public WeightAccess {
 public:
  StepWeights(const PreparedProgram& prepared, const SectionPlan& plan, const PlanStep& step)
      : prepared_(prepared), plan_(plan), step_(step) {}

  std::span<const std::byte> packed(std::size_t input, const std::string& key) override;
  void fetch(std::size_t input) override;
  std::shared_ptr<const void> share(std::size_t input, const std::string& key,
                                    const std::function<std::shared_ptr<const void>()>& pack) override;
  void offer(std::size_t input, const std::string& key, std::function<std::vector<std::byte>()> pack) override;

 private:
  std::optional<std::uint32_t> whole_storage(std::size_t input) const;

  const PreparedProgram& prepared_;
  const SectionPlan& plan_;
  const PlanStep& step_;
};

}  // namespace tern
