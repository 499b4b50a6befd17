// Runs pointwise nodes: tile by tile, one loop for each instruction, the tiles spread over threads.
#include <memory>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/pointwise/kernels.h"
#include "kernels/cpu/pointwise/stream.h"
#include "kernels/cpu/pointwise/worker.h"
#include "kernels/cpu/scratch.h"

namespace tern::pointwise {
namespace {

std::unique_ptr<KernelState> prepare(const KernelCall& call) {
  return std::make_unique<Plan>(call);
}

void run(KernelCall& call) {
  std::unique_ptr<KernelState> own;
  if (call.state == nullptr) own = prepare(call);
  const Plan& plan = static_cast<const Plan&>(call.state != nullptr ? *call.state : *own);
  if (plan.total == 0) return;
  parallel_for(plan.tiles, plan.grain(), [&](std::int64_t begin, std::int64_t end) {
    Worker worker(plan, call, thread_buffer<std::byte>(Worker::bytes(plan)), plan.tile);
    worker.stream_result();
    for (std::int64_t i = begin; i < end; ++i) worker.run_tile(plan.tile_at(i));
    end_stream();
  });
}

}  // namespace

void register_pointwise(KernelTable& t) {
  Kernel k;
  k.run = run;
  k.prepare = prepare;
  k.strided = kAllStrided;
  k.in_place = 0;
  t.set(Op::pointwise, k);
}

}  // namespace tern::pointwise
