// Makes the plan of one section of a function for known symbol values.
#pragma once

#include <span>
#include <vector>

#include "runtime/plan.h"
#include "runtime/prepared.h"

namespace tern {

struct PlanRequest {
  const PreparedProgram* prepared = nullptr;
  std::uint32_t function = 0;
  std::uint32_t section = 0;
  std::span<const std::int64_t> expressions;  ///< the value of each node of the pool
  std::span<std::byte* const> constants;      ///< for each state: its data if its bytes never change, else null
  std::vector<Placed>
      values;  ///< for each value: where earlier sections placed it, Location::Kind::none if they did not
  std::vector<std::int64_t> key;           ///< the values of the function's symbols
  Threads threads{1};                      ///< of the runs
  portable::Launcher* launcher = nullptr;  ///< of the device that the plan is for; null on the CPU
};

Plan make_plan(PlanRequest request);

}  // namespace tern
