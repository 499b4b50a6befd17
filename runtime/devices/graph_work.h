// Work of a device graph with its step, for traces.
#pragma once

#include <cstdint>

#include "kernels/portable/launcher.h"
#include "runtime/plan/plan.h"

namespace tern {

/// Work recorded after one GraphRecorder::annotate.
struct GraphWork {
  std::uint32_t function = 0;
  const PlanStep* step = nullptr;    ///< null: control flow, and copies between steps
  const TensorView* args = nullptr;  ///< operands of the step, then results
  bool is_copy = false;
  portable::KernelHandle kernel{};  ///< 0: copies, and kernels of a vendor's library
  std::uint64_t bytes = 0;          ///< length of a copy
};

}  // namespace tern
