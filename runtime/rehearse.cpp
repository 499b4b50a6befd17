#include "runtime/rehearse.h"

#include <tern/error.h>

#include <algorithm>

#include "kernels/portable/launches.h"
#include "runtime/devices/device.h"
#include "runtime/frame.h"

namespace tern {

namespace {

bool is_communication(Op op) {
  return op == Op::collective || op == Op::exchange || op == Op::wait;
}

/// True if the step requests further kernels during a run, in addition to its planned kernels.
bool asks_later(const PlanStep& step) {
  if (step.kind == PlanStep::Kind::copy) return true;
  return step.kind == PlanStep::Kind::kernel && step.kernel->run != portable::run_launches &&
         !is_communication(step.resolved->op) &&  // no kernels to request
         step.resolved->op != Op::custom;         // text already planned; host code belongs to the user
}

}  // namespace

void Frame::rehearse(std::span<const std::int64_t> symbols) {
  rehearses_ = true;
  for (std::uint32_t s = 0; s < sections_.size(); ++s) {
    std::ranges::copy(symbols, symbols_.begin());  // discards symbol values found by the rehearsed step
    expressions_valid_ = false;
    evaluate_expressions();
    PlanRun& run = plan_for(s);
    sections_[s].current = &run;
    context_.scratch.reserve(run.plan->scratch_bytes, context_.device());
    for (TensorView& v : run.args) v.data = context_.scratch.data();
    for (const PlanStep& step : run.plan->steps) {
      if (!asks_later(step)) continue;
      try {
        execute(run, step);
      } catch (const Error& e) {
        if (e.code() != ErrorCode::runtime) throw;  // invented values do not fit the program
      }
    }
  }
}

std::size_t rehearse(const PreparedProgram& prepared, std::span<const std::int64_t> symbols) {
  const std::shared_ptr<DeviceStream> stream = prepared.device->open_stream();
  StateMemory state(prepared, *stream);
  SessionContext context{.prepared = &prepared, .state = &state, .stream = stream.get()};
  std::size_t unfit = 0;
  for (std::uint32_t f = 0; f < prepared.functions.size(); ++f) {
    try {
      Frame(context, f).rehearse(symbols);
    } catch (const Error& e) {
      if (e.code() != ErrorCode::runtime) throw;
      ++unfit;
    }
  }
  return unfit;
}

}  // namespace tern
