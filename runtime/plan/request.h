// Request for a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/plan/plan.h"
#include "runtime/prepared.h"

namespace tern {

class DeviceStream;

struct PlanRequest {
  const PreparedProgram& prepared;
  PlanKey key;
  std::span<const std::int64_t> expressions;  ///< value of each node of the pool
  std::span<std::byte* const> constants;      ///< data of each constant state, else null
  DeviceStream& stream;                       ///< stream of the plan's device
};

}  // namespace tern
