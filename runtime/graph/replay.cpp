#include "runtime/graph/replay.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "runtime/cancel.h"
#include "runtime/control.h"
#include "runtime/devices/times.h"
#include "runtime/graph/device_graph.h"

namespace tern {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace

void Replay::run(const Recording& recording) const {
  for (const RecordedItem& item : recording.items) {
    session.limits.check_time();
    run(item);
  }
}

void Replay::run(const RecordedItem& item) const {
  const SessionContext& c = captured;
  std::visit(Overloaded{[&](const RecordedKernel& k) { run_kernel(item, k); },
                        [&](const RecordedCopy& copy) { c.copy(copy.source, copy.destination); },
                        [&](const RecordedUpload& u) { c.upload(u.destination, u.source, u.bytes); },
                        [&](const RecordedDownload& d) { c.download(d.destination, d.source, d.bytes); },
                        [&](const RecordedCheck& check) {
                          if (!truth(c, check.value)) {
                            fail(ErrorCode::runtime, describe(*c.prepared, item.function, item.node) +
                                                         ": the program's check failed: " + check.text);
                          }
                        },
                        [&](const RecordedBranch& b) { run(truth(c, b.predicate) ? *b.chosen : *b.otherwise); },
                        [&](const RecordedLoop& loop) { run_loop(item, loop); },
                        [&](const RecordedGraph& g) { run_graph(g); }},
             item.operation);
}

void Replay::run_loop(const RecordedItem& item, const RecordedLoop& loop) const {
  for (std::int64_t iteration = 0;; ++iteration) {
    run(*loop.condition);
    if (!truth(captured, loop.predicate)) return;
    try {
      RunLimits::check_iteration(captured.prepared->options, iteration);
    } catch (const Error& e) {
      fail_at(describe(*captured.prepared, item.function, item.node), e);
    }
    run(*loop.body);
  }
}

void Replay::run_graph(const RecordedGraph& g) const {
  if (!session.is_watched()) return g.graph->launch();
  // The items run unwatched during the recording.
  const auto enqueue = [&](GraphWorkList& list) { enqueue_timed({captured, captured}, *g.items, list); };
  if (!has_graph_times(session) || !g.timed->launch(session, enqueue)) run(*g.items);
}

void Replay::run_kernel(const RecordedItem& item, const RecordedKernel& kernel) const {
  const PlanStep& step = *kernel.step;
  // Results sized by kernels do not occur here, so kernels write nothing to the arguments.
  KernelCall call = step.call(const_cast<TensorView*>(kernel.args.data()), kernel.constant);
  call.precision = captured.prepared->options.precision;
  call.scratch = {captured.scratch.data(), step.scratch};
  call.random = &session.random;
  call.groups = session.groups;
  call.launcher = &captured.stream->launcher();
  const auto run = [&] {
    try {
      step.kernel->run(call);
    } catch (const Error& e) {
      fail_at(describe(*captured.prepared, item.function, item.node), e);
    }
  };
  if (!session.is_watched()) return run();
  measure_step(session, item.function, step, call.in, call.out, run);
}

}  // namespace tern
