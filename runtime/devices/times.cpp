#include "runtime/devices/times.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "runtime/devices/device.h"

namespace tern {
namespace {

/// Names of a host call in the device's API, and of the started device work in Kineto.
struct CallText {
  const char *cuda, *hip, *generic;
  const char* device_work;
};
constexpr std::array kCalls = {
    CallText{"cudaLaunchKernel", "hipLaunchKernel", "launch", nullptr},
    CallText{"cudaMemcpyAsync", "hipMemcpyAsync", "copy to device", "Memcpy HtoD (Pageable -> Device)"},
    CallText{"cudaMemcpyAsync", "hipMemcpyAsync", "copy to host", "Memcpy DtoH (Device -> Pageable)"},
    CallText{"cudaMemcpyAsync", "hipMemcpyAsync", "copy within device", "Memcpy DtoD (Device -> Device)"},
    CallText{"cudaStreamSynchronize", "hipStreamSynchronize", "synchronize", nullptr},
    CallText{"cudaGraphLaunch", "hipGraphLaunch", "launch a graph", nullptr},
};

/// HolisticTraceAnalysis classifies kernels by their name; this name means communication.
constexpr const char* kCommunication = "ncclDevKernel";

const char* name_of(StreamWatch::Call call, const std::string& device) {
  const CallText& text = kCalls[static_cast<std::size_t>(call)];
  return device.starts_with("cuda") ? text.cuda : device.starts_with("rocm") ? text.hip : text.generic;
}

/// Kineto's name of a copy on the device; null for other work.
const char* copy_name(StreamWatch::Call call) {
  return kCalls[static_cast<std::size_t>(call)].device_work;
}

}  // namespace

DeviceTimes::DeviceTimes(SessionContext& session) : session_(session) {
  if (session.device().traits().host_memory) return;
  if (!session.is_watched()) return;
  StepClock* const clock = session.stream->clock();
  if (clock == nullptr && !traced()) return;
  session.stream->synchronize();  // drains earlier work of other users
  visits_.resize(1);
  if (clock != nullptr) {
    clock->begin();
    clock_ = clock;
    session.times = this;
  }
  if (traced()) session.stream->set_watch(this);
}

DeviceTimes::~DeviceTimes() {
  if (visits_.empty()) return;
  session_.stream->set_watch(nullptr);
  if (traced() && !complete_) {
    try {
      write_trace(0);  // records the host calls of a failed run
    } catch (const std::exception&) {
      // The run's own error takes precedence.
    }
  }
  if (clock_ == nullptr) return;
  session_.times = nullptr;
  session_.stream->settle();
  clock_->end();
}

void DeviceTimes::mark(std::uint64_t id) const {
  if (clock_ != nullptr) clock_->mark(id);
}

std::uint64_t DeviceTimes::start(const EventLabel* label, const EventLabel* device_work, EventKind kind) {
  SessionTrace& trace = *session_.trace;
  Started s{};
  s.event.kind = kind;
  s.event.label = label;
  s.event.node = trace.open.label;
  s.event.id = trace.open.id;
  s.event.scope = trace.recorder().scope();
  s.device_work = device_work;
  s.visit = current_;
  s.event.begin = steady_nanoseconds();
  started_.push_back(std::move(s));
  return started_.size();
}

/// Name of the work that a library starts for a node.
const EventLabel* DeviceTimes::name_of_node_work(const EventLabel* node) const {
  const bool communicates = node != nullptr && (node->name == "tern::collective" || node->name == "tern::exchange");
  return communicates ? session_.trace->recorder().label_of(kCommunication) : node;
}

bool DeviceTimes::times_graphs() const {
  return traced() && session_.profile == nullptr && clock_ != nullptr && clock_->times_graphs();
}

void DeviceTimes::launch(DeviceGraph& graph, const std::vector<GraphWork>& work_list) {
  {
    const WatchedCall watched(this, Call::graph);
    graph.launch();
  }
  // Texts are collected while the device works.
  SessionTrace& trace = *session_.trace;
  std::vector<GraphText>& texts = started_[calling_ - 1].graph_texts;
  for (const GraphWork& w : work_list) {
    GraphText text{nullptr, nullptr, trace.recorder().scope(), w.is_copy, w.bytes};
    if (w.step != nullptr) {
      const std::span in(w.args, w.step->inputs), out(w.args + w.step->inputs, w.step->outputs);
      text.node = trace.label(w.function, *w.step, in, out);
      if (const EventLabel* annotation = trace.annotation(w.function, *w.step)) text.scope = annotation;
    }
    text.name = w.is_copy                              ? trace.recorder().label_of(copy_name(Call::within))
                : w.kernel != portable::KernelHandle() ? trace.kernel_label(w.kernel)
                : text.node != nullptr                 ? name_of_node_work(text.node)
                                                       : trace.recorder().label_of("control flow");
    texts.push_back(text);
  }
}

void DeviceTimes::enter(std::uint32_t function, std::uint32_t node) {
  visits_.push_back({function, node, current_});
  current_ = visits_.size() - 1;
  // Libraries start kernels without the stream's launcher; their kernels belong to the node.
  if (traced()) {
    const EventLabel* label = session_.trace->open.label;
    visits_[current_].mark = start(label, name_of_node_work(label), EventKind::launch);
    started_.back().is_call = false;
    mark(visits_[current_].mark);
    return;
  }
  mark(current_);
}

void DeviceTimes::leave() {
  if (traced()) started_[visits_[current_].mark - 1].event.end = steady_nanoseconds();
  current_ = visits_[current_].outer;
  mark(traced() ? visits_[current_].mark : current_);
}

void DeviceTimes::begin(Call call, portable::KernelHandle kernel, std::uint64_t bytes) {
  const char* device_work = copy_name(call);
  TraceRecorder& recorder = session_.trace->recorder();
  const EventLabel* started = call == Call::launch     ? session_.trace->kernel_label(kernel)
                              : device_work == nullptr ? nullptr
                                                       : recorder.label_of(device_work);
  const EventKind kind = call == Call::launch || call == Call::graph ? EventKind::launch
                         : call == Call::wait                        ? EventKind::wait
                                                                     : EventKind::copy;
  calling_ = start(recorder.label_of(name_of(call, session_.device().name())), started, kind);
  started_.back().is_call = true;
  started_.back().is_copy = kind == EventKind::copy;
  started_.back().event.bytes = bytes;
  mark(calling_);
}

void DeviceTimes::end() noexcept {
  started_[calling_ - 1].event.end = steady_nanoseconds();
  try {
    mark(visits_[current_].mark);
  } catch (const std::exception&) {
    // The next call reports the device's failure.
  }
}

void DeviceTimes::add_to_profile(const StepClock::Time& t, std::size_t visit) const {
  if (session_.profile == nullptr) return;
  for (std::size_t v = visit; v != 0; v = visits_[v].outer)
    session_.profile->add_span(visits_[v].function, visits_[v].node, t.seconds());
}

void DeviceTimes::finish() {
  if (visits_.empty()) return;
  session_.stream->synchronize();
  const std::uint64_t waited = steady_nanoseconds();
  while (clock_ != nullptr) {
    const std::span<const StepClock::Time> times = clock_->consume_times();
    if (times.empty()) break;
    for (const StepClock::Time& t : times) {
      if (!traced()) {
        add_to_profile(t, t.id < visits_.size() ? t.id : 0);
        continue;
      }
      if (t.id == 0 || t.id > started_.size()) continue;
      add_to_profile(t, started_[t.id - 1].visit);
      started_[t.id - 1].times.push_back(t);
    }
  }
  if (traced()) write_trace(waited);
  complete_ = true;
}

/// Offset from the device's clock to the host's: the smallest offset with no work beginning before its host call. The
/// first work on an idle stream begins almost at once, so the error is about the shortest delay between a call and its
/// beginning.
std::int64_t DeviceTimes::offset() const {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  for (const Started& s : started_) {
    for (const StepClock::Time& t : s.times)
      least = std::max(least, static_cast<std::int64_t>(s.event.begin) - static_cast<std::int64_t>(t.begin));
  }
  return least;
}

void DeviceTimes::write_trace(std::uint64_t waited) {
  SessionTrace& trace = *session_.trace;
  TraceRecorder& recorder = trace.recorder();
  const std::int64_t moved = offset();
  const std::uint64_t first = recorder.take_ids(started_.size());
  std::map<const EventLabel*, TraceEvent> scopes;
  for (std::size_t i = 0; i < started_.size(); ++i) {
    const Started& s = started_[i];
    TraceEvent host = s.event;
    if (!s.is_call && s.times.empty()) continue;
    host.correlation = first + i;
    host.unfinished = waited == 0 && (host.end == 0 || (host.kind != EventKind::wait && clock_ != nullptr));
    if (host.end == 0) host.end = steady_nanoseconds();
    host.flows = !s.times.empty();
    recorder.add(host);
    bool is_first = true;
    for (const StepClock::Time& t : s.times) {
      TraceEvent e = host;
      e.kind = s.is_copy ? EventKind::device_copy : EventKind::kernel;
      e.label = s.device_work == nullptr ? s.event.label : s.device_work;
      if (t.number > 0 && t.number <= s.graph_texts.size()) {
        const GraphText& work = s.graph_texts[t.number - 1];
        e.kind = work.is_copy ? EventKind::device_copy : EventKind::kernel;
        e.label = work.name;
        e.node = work.node;
        e.scope = work.scope;
        e.bytes = work.bytes;
      }
      e.begin = static_cast<std::uint64_t>(static_cast<std::int64_t>(t.begin) + moved);
      e.end = static_cast<std::uint64_t>(static_cast<std::int64_t>(t.end) + moved);
      e.device = trace.device();
      e.stream = trace.stream();
      e.flows = std::exchange(is_first, false);
      recorder.add(e);
      for (const EventLabel* scope = e.scope; scope != nullptr; scope = scope->outer) {
        TraceEvent& around = scopes.try_emplace(scope, e).first->second;
        around.kind = EventKind::device_scope;
        around.label = scope;
        around.begin = std::min(around.begin, e.begin);
        around.end = std::max(around.end, e.end);
      }
    }
  }
  for (auto& [scope, e] : scopes) {
    e.node = nullptr;
    e.id = e.correlation = e.bytes = 0;
    e.flows = false;
    recorder.add(e);
  }
}

}  // namespace tern
