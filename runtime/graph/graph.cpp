#include "runtime/graph/graph.h"

#include <tern/error.h>

#include <algorithm>
#include <functional>

#include "runtime/devices/times.h"
#include "runtime/graph/device_graph.h"
#include "runtime/outputs.h"

namespace tern {

void GraphImpl::begin(const Stream& stream) {
  if (stream.is_capturing()) fail(ErrorCode::invalid_argument, "the stream is already being captured");
  reset();
  stream_ = stream.impl();
  stream_->capture = this;
}

void GraphImpl::end() {
  if (stream_ == nullptr || stream_->capture != this)
    fail(ErrorCode::invalid_argument, "capture_end without capture_begin");
  stream_->capture = nullptr;
  for (CapturedRun& run : captured_runs_) {
    list_nodes(run, run.recording, 0);
    // Nodes of a device's graph cannot be measured.
    if (run.session->profile != nullptr) continue;
    try {
      make_device_graphs({run.context, run.session->context}, run.recording);
    } catch (const std::exception& e) {
      run.session->give_up(e);
      throw;
    }
  }
  complete_ = true;
}

void GraphImpl::reset() noexcept {
  if (stream_ != nullptr) {
    if (stream_->capture == this) stream_->capture = nullptr;
    stream_->device_stream->settle();  // pending copies of results may write to memory about to be freed
  }
  complete_ = false;
  for (CapturedRun& run : captured_runs_) ++run.session->context.plans_dropped;
  nodes_.clear();
  captured_runs_.clear();
  stream_.reset();
}

namespace {

/// True if the run writes an input at this host address.
bool updates(const CapturedRun& run, const void* data) {
  if (run.frame == nullptr) return false;
  const Function& f = run.frame->function();
  auto given = run.inputs.begin();
  for (std::uint32_t i = 0; i < f.inputs.size(); ++i) {
    if (f.inputs[i].kind != FunctionInput::Kind::user || (given++)->data() != data) continue;
    for (const WriteBack& w : f.writebacks) {
      if (w.target == WriteBack::Target::input && w.index == i) return true;
    }
  }
  return false;
}

}  // namespace

/// Inputs equal to results of earlier runs stay on the device: a device copy replaces the upload.
void GraphImpl::chain(CapturedRun& run, std::span<const TensorView> inputs) const {
  for (RecordedItem& item : run.recording.items) {
    const auto* upload = std::get_if<RecordedUpload>(&item.operation);
    if (upload == nullptr || upload->source == nullptr) continue;
    const auto to = std::ranges::find(inputs, upload->destination, &TensorView::data);
    for (auto earlier = captured_runs_.rbegin(); earlier != captured_runs_.rend(); ++earlier) {  // the last writer
      if (updates(*earlier, upload->source)) break;
      const auto given = std::ranges::find(earlier->outputs, upload->source, [](const Tensor& t) { return t.data(); });
      if (given == earlier->outputs.end()) continue;
      TensorView from = *to;
      from.data = earlier->results[static_cast<std::size_t>(given - earlier->outputs.begin())].data;
      item.operation = RecordedCopy{from, *to};
      break;
    }
  }
}

const std::vector<Tensor>& GraphImpl::record(std::shared_ptr<SessionImpl> session, std::uint32_t function,
                                             std::span<const Tensor> inputs, CallerOutputs* caller_outputs) {
  CapturedRun& run = captured_runs_.emplace_back();
  try {
    run.session = std::move(session);
    run.session->groups.begin_run();
    run.inputs.assign(inputs.begin(), inputs.end());
    const SessionContext& c = run.session->context;
    run.context.prepared = c.prepared;
    run.context.state = c.state;
    run.context.stream = c.stream;
    run.context.recording = &run.recording;
    run.context.limits.start(c.prepared->options);
    run.context.threads = Threads::chosen(c.prepared->options.threads);
    const ThreadScope scope(run.context.threads);
    run.recording.function = function;
    const Function& f = c.prepared->program->functions[function];
    std::vector<TensorView> views;
    fill_inputs(*c.prepared, f, inputs, views);
    if (caller_outputs != nullptr) caller_outputs->keep_apart(views);
    if (caller_outputs != nullptr) caller_outputs->check_asynchronous();
    run.transfer = std::make_unique<Transfer>(run.context);
    run.transfer->bring(f, inputs, views);
    chain(run, views);
    run.frame = std::make_unique<Frame>(run.context, function);
    run.results = run.frame->run(views, {}, caller_outputs);
    const std::vector<TensorView>& there = run.transfer->take_back(f, run.results, caller_outputs);
    if (caller_outputs != nullptr) {
      for (std::size_t i = 0; i < caller_outputs->size(); ++i) {
        const TensorView& to = caller_outputs->view(i);
        if (to.dtype != DType::invalid && to.data != there[i].data) run.context.copy(there[i], to);
      }
      run.outputs = caller_outputs->tensors();  // replays write to these tensors, so the graph keeps them
    } else {
      SessionImpl::lend(there, run.outputs);
    }
    run.context.recording = nullptr;
  } catch (const std::exception& e) {
    const std::shared_ptr<SessionImpl> failed = run.session;
    captured_runs_.pop_back();
    failed->give_up(e);
    throw;
  }
  return run.outputs;
}

namespace {

[[noreturn]] void refuse_in_replay() {
  fail(ErrorCode::invalid_argument,
       "the graph is being replayed, by another thread or by the caller whose operator calls it");
}

/// Ensures a single replay of a graph at a time.
struct ReplayScope {
  explicit ReplayScope(std::atomic<bool>& replaying) : replaying(replaying) {
    if (replaying.exchange(true)) refuse_in_replay();
  }
  ~ReplayScope() { replaying = false; }
  ReplayScope(const ReplayScope&) = delete;
  ReplayScope& operator=(const ReplayScope&) = delete;
  std::atomic<bool>& replaying;
};

}  // namespace

void GraphImpl::check_idle() const {
  if (replaying_) refuse_in_replay();
}

void GraphImpl::replay() {
  const ReplayScope scope(replaying_);
  if (!complete_) fail(ErrorCode::invalid_argument, "a graph is replayed after capture_begin and capture_end");
  if (stream_->capture != nullptr) fail(ErrorCode::invalid_argument, "a graph cannot be replayed during a capture");
  for (CapturedRun& run : captured_runs_) {
    const SessionUse session(run.session);
    try {
      const ThreadScope threads(run.context.threads);
      run.session->context.limits.start(run.context.prepared->options);
      run.session->groups.begin_run();
      const TracedRun traced(run.session->context, run.session->tracing, run.frame->function().name + " (graph)");
      DeviceTimes times(run.session->context);
      Replay{run.context, run.session->context}.run(run.recording);
      times.finish();
    } catch (const std::exception& e) {
      run.session->give_up(e);
      throw;
    }
  }
}

void GraphImpl::list_nodes(const CapturedRun& run, const Recording& recording, int depth) {
  const PreparedProgram& prepared = *run.context.prepared;
  for (const RecordedItem& item : recording.items) {
    if (const auto* kernel = std::get_if<RecordedKernel>(&item.operation)) {
      const Function& f = prepared.program->functions[item.function];
      const Node& n = f.nodes[kernel->step->number];
      GraphNode node{f.name, kernel->step->number, std::string(op_name(n.op)), {}, {}, depth};
      if (n.origin >= 0) {
        const Origin& origin = prepared.program->origins[static_cast<std::size_t>(n.origin)];
        node.origin = origin.op;
        node.module = origin.module;
      }
      nodes_.push_back(std::move(node));
    } else if (const auto* b = std::get_if<RecordedBranch>(&item.operation)) {
      for (const auto& body : {std::cref(b->chosen), std::cref(b->otherwise)}) list_nodes(run, *body.get(), depth + 1);
    } else if (const auto* l = std::get_if<RecordedLoop>(&item.operation)) {
      for (const auto& body : {std::cref(l->condition), std::cref(l->body)}) list_nodes(run, *body.get(), depth + 1);
    }
  }
}

std::uint64_t GraphImpl::memory_bytes() const {
  std::uint64_t bytes = 0;
  for (const CapturedRun& run : captured_runs_) {
    bytes += run.frame->arena_bytes() + run.context.scratch.size() + run.transfer->device_bytes();
  }
  return bytes;
}

namespace {

std::size_t count_device_graphs(const Recording& recording) {
  std::size_t n = 0;
  for (const RecordedItem& item : recording.items) {
    if (std::holds_alternative<RecordedGraph>(item.operation)) ++n;
    if (const auto* b = std::get_if<RecordedBranch>(&item.operation))
      n += count_device_graphs(*b->chosen) + count_device_graphs(*b->otherwise);
    if (const auto* l = std::get_if<RecordedLoop>(&item.operation))
      n += count_device_graphs(*l->condition) + count_device_graphs(*l->body);
  }
  return n;
}

}  // namespace

std::size_t GraphImpl::device_graphs() const {
  std::size_t n = 0;
  for (const CapturedRun& run : captured_runs_) n += count_device_graphs(run.recording);
  return n;
}

namespace {

/// A running replay needs its graph.
void leave_to_replay(std::unique_ptr<GraphImpl>& graph) noexcept {
  if (graph != nullptr && graph->is_replaying()) graph.release()->is_dropped = true;
}

/// Deletes a graph dropped during its replay.
struct ReplayEnd {
  GraphImpl* graph;
  ~ReplayEnd() {
    if (graph->is_dropped) delete graph;
  }
};

}  // namespace

Graph::Graph() : impl_(std::make_unique<GraphImpl>()) {}
Graph::~Graph() {
  leave_to_replay(impl_);
}
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&& other) noexcept {
  if (this == &other) return *this;
  leave_to_replay(impl_);
  impl_ = std::move(other.impl_);
  return *this;
}

void Graph::capture_begin(const Stream& stream) {
  impl_->check_idle();
  impl_->begin(stream);
}
void Graph::capture_end() {
  impl_->end();
}
void Graph::replay() {
  impl_->check_idle();
  const ReplayEnd end{impl_.get()};
  end.graph->replay();
}
void Graph::reset() {
  impl_->check_idle();
  impl_->reset();
}
std::vector<GraphNode> Graph::nodes() const {
  return impl_->nodes();
}
std::uint64_t Graph::memory_bytes() const {
  return impl_->memory_bytes();
}
std::size_t Graph::device_graphs() const {
  return impl_->device_graphs();
}

}  // namespace tern
