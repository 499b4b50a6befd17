#include "runtime/graph/timed_graph.h"

#include <utility>

#include "runtime/devices/times.h"

namespace tern {

GraphWorkList::GraphWorkList(const SessionContext& session) : session_(session) {
  session_.stream->set_watch(this);
}

GraphWorkList::~GraphWorkList() {
  session_.stream->set_watch(session_.times);
}

void GraphWorkList::add(const GraphWork& work) {
  session_.stream->graphs()->annotate(text_);
  work_list_.push_back(work);
}

void GraphWorkList::enter(std::uint32_t function, const PlanStep* step, const TensorView* args,
                          std::function<std::string()> text) {
  step_ = {function, step, args};
  text_ = std::move(text);
  add(step_);
}

void GraphWorkList::begin(Call call, portable::KernelHandle kernel, std::uint64_t bytes) {
  GraphWork work = step_;
  work.is_copy = call == Call::within;
  work.kernel = kernel;
  work.bytes = bytes;
  add(work);
}

bool TimedGraph::launch(const SessionContext& session, const std::function<void(GraphWorkList&)>& enqueue) {
  if (!std::exchange(is_recorded_, true)) {
    GraphWorkList list(session);
    try {
      graph_ = session.stream->graphs()->record([&] { enqueue(list); });
    } catch (const Error&) {
      // No step has run: a kernel waits or allocates, or the device refuses. A broken device fails again in the single
      // steps.
    }
    work_list_ = list.work_list();
  }
  if (graph_ == nullptr) return false;
  session.times->launch(*graph_, work_list_);
  return true;
}

}  // namespace tern
