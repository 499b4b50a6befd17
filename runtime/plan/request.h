// What a plan is asked for with.
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
  std::span<const std::int64_t> expressions;  ///< the value of each node of the pool
  std::span<std::byte* const> constants;      ///< for each state: its data if its bytes never change, else null
  DeviceStream& stream;                       ///< of the device that the plan is for
};

}  // namespace tern
