// Runs pointwise nodes: tile by tile, one loop for each instruction, the tiles spread over threads.
#include <memory>

#include "kernels/cpu/pointwise/kernels.h"
#include "kernels/cpu/pointwise/stream.h"
#include "kernels/cpu/pointwise/worker.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::pointwise {
namespace {

template <const LoopTable& (*kTable)()>
std::unique_ptr<KernelState> prepare(const KernelCall& call) {
  return std::make_unique<Plan>(call, 0, kTable());
}

void run_plan(const KernelCall& call, const Plan& plan) {
  if (plan.total == 0) return;
  parallel_for(plan.tiles, plan.grain(), [&](std::int64_t begin, std::int64_t end) {
    Worker worker(plan, call, thread_buffer<std::byte>(Worker::bytes(plan)), plan.tile);
    worker.stream_result();
    for (std::int64_t i = begin; i < end; ++i) worker.run_tile(plan.tile_at(i));
    end_stream();
  });
}

template <const LoopTable& (*kTable)()>
void run(KernelCall& call) {
  std::unique_ptr<KernelState> own;
  if (call.state == nullptr) own = prepare<kTable>(call);
  run_plan(call, static_cast<const Plan&>(call.state != nullptr ? *call.state : *own));
}

template <const LoopTable& (*kTable)()>
void register_with(KernelTable& t) {
  Kernel k;
  k.run = run<kTable>;
  k.prepare = prepare<kTable>;
  k.strided = kAllStrided;
  k.in_place = 0;
  t.set(Op::pointwise, k);
}

}  // namespace

void register_pointwise(KernelTable& t) {
  register_with<loop_table>(t);
}
void register_reproducible_pointwise(KernelTable& t) {
  register_with<reproducible_loop_table>(t);
}

}  // namespace tern::pointwise
