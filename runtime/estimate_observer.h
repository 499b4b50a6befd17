// An observer of plans that also receives the estimates of algorithms.
#pragma once

#include <vector>

#include "kernels/algorithm_costs.h"
#include "runtime/prepared.h"

namespace tern {

class EstimateObserver : public PlanObserver {
 public:
  /// Called before `prepared` for nodes with estimates.
  virtual void estimated(std::uint32_t function, std::uint32_t number, std::vector<AlgorithmCost> costs) = 0;
};

}  // namespace tern
