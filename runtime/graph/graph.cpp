#include "runtime/graph/graph.h"

#include <tern/error.h>

#include <algorithm>
#include <functional>

#include "runtime/devices/times.h"
#include "runtime/graph/device_graph.h"

namespace tern {

void GraphImpl::begin(const Stream& stream) {
  if (stream.is_capturing()) fail(ErrorCode::invalid_argument, "the stream is captured already");
  reset();
  stream_ = stream.impl();
  stream_->capture = this;
}

void GraphImpl::end() {
  if (stream_ == nullptr || stream_->capture != this)
    fail(ErrorCode::invalid_argument, "capture_end without capture_begin");
  stream_->capture = nullptr;
  for (CapturedRun& run : runs_) {
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
    if (stream_->work != nullptr) stream_->work->settle();  // results may be under way to memory that goes now
  }
  complete_ = false;
  nodes_.clear();
  runs_.clear();
  stream_.reset();
}

/// Whether an input is a result of an earlier run: it stays on the device.
bool GraphImpl::chain(const Tensor& given, const TensorView& input, CapturedRun& run) const {
  for (const CapturedRun& earlier : runs_) {
    for (std::size_t i = 0; i < earlier.outputs.size(); ++i) {
      if (given.data() == nullptr || earlier.outputs[i].data() != given.data()) continue;
      TensorView from = input;
      from.data = earlier.results[i].data;
      run.recording.add(RecordedCopy{from, input});
      return true;
    }
  }
  return false;
}

void GraphImpl::bring(CapturedRun& run, const Function& f, std::vector<TensorView>& views) {
  run.on_device.resize(views.size());
  for (std::size_t i = 0, k = 0; i < views.size(); ++i) {
    if (f.inputs[i].kind != FunctionInput::Kind::user) continue;
    const Tensor& given = run.inputs[k++];
    if (f.inputs[i].value == kNoValue) continue;
    const std::uint64_t bytes = DeviceTransfer::bytes_of(views[i]);
    run.on_device[i].reserve(bytes, run.context.device());
    views[i].data = run.on_device[i].data();
    if (!chain(given, views[i], run)) run.recording.add(RecordedUpload{views[i].data, given.data(), bytes});
  }
}

void GraphImpl::take_back(CapturedRun& run, const Function& f, std::span<const TensorView> given,
                          std::span<const TensorView> on_device) {
  std::vector<TensorView> on_host = run.results;
  run.on_host.resize(on_host.size());
  for (std::size_t i = 0; i < on_host.size(); ++i) {
    if (on_host[i].dtype == DType::invalid) continue;
    const std::uint64_t bytes = DeviceTransfer::bytes_of(on_host[i]);
    run.on_host[i].reserve(bytes);
    run.recording.add(RecordedDownload{run.on_host[i].data(), on_host[i].data, bytes});
    on_host[i].data = run.on_host[i].data();
  }
  for (const WriteBack& w : f.writebacks) {
    if (w.target != WriteBack::Target::input) continue;
    const TensorView& input = given[w.index];
    run.recording.add(RecordedDownload{input.data, on_device[w.index].data, DeviceTransfer::bytes_of(input)});
  }
  SessionImpl::lend(on_host, run.outputs);
}

const std::vector<Tensor>& GraphImpl::record(std::shared_ptr<SessionImpl> session, std::uint32_t function,
                                             std::span<const Tensor> inputs) {
  CapturedRun& run = runs_.emplace_back();
  try {
    run.session = std::move(session);
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
    fill_inputs(*c.prepared->program, f, inputs, views);
    const std::vector<TensorView> given = views;
    if (c.stream != nullptr) bring(run, f, views);
    run.frame = std::make_unique<Frame>(run.context, function);
    run.results = run.frame->run(views, {});
    if (c.stream != nullptr) {
      take_back(run, f, given, views);
    } else {
      SessionImpl::lend(run.results, run.outputs);
    }
    run.context.recording = nullptr;
  } catch (const std::exception& e) {
    const std::shared_ptr<SessionImpl> failed = run.session;
    runs_.pop_back();
    failed->give_up(e);
    throw;
  }
  return run.outputs;
}

void GraphImpl::replay() {
  if (!complete_) fail(ErrorCode::invalid_argument, "a graph is replayed after capture_begin and capture_end");
  if (stream_->capture != nullptr) fail(ErrorCode::invalid_argument, "a graph cannot be replayed during a capture");
  for (CapturedRun& run : runs_) {
    try {
      const ThreadScope scope(run.context.threads);
      run.session->context.limits.start(run.context.prepared->options);
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
    if (const auto* kernel = std::get_if<RecordedKernel>(&item.what)) {
      const Function& f = prepared.program->functions[item.function];
      const Node& n = f.nodes[kernel->step->number];
      GraphNode node{f.name, kernel->step->number, std::string(op_name(n.op)), {}, {}, depth};
      if (n.origin >= 0) {
        const Origin& origin = prepared.program->origins[static_cast<std::size_t>(n.origin)];
        node.origin = origin.op;
        node.module = origin.module;
      }
      nodes_.push_back(std::move(node));
    } else if (const auto* b = std::get_if<RecordedBranch>(&item.what)) {
      for (const auto& body : {std::cref(b->chosen), std::cref(b->otherwise)}) list_nodes(run, *body.get(), depth + 1);
    } else if (const auto* l = std::get_if<RecordedLoop>(&item.what)) {
      for (const auto& body : {std::cref(l->condition), std::cref(l->body)}) list_nodes(run, *body.get(), depth + 1);
    }
  }
}

std::uint64_t GraphImpl::memory_bytes() const {
  std::uint64_t bytes = 0;
  for (const CapturedRun& run : runs_) {
    bytes += run.frame->arena_bytes() + run.context.scratch.size();
    for (const Buffer& b : run.on_device) bytes += b.size();
  }
  return bytes;
}

namespace {

std::size_t count_device_graphs(const Recording& recording) {
  std::size_t n = 0;
  for (const RecordedItem& item : recording.items) {
    if (std::holds_alternative<DeviceGraph>(item.what)) ++n;
    if (const auto* b = std::get_if<RecordedBranch>(&item.what))
      n += count_device_graphs(*b->chosen) + count_device_graphs(*b->otherwise);
    if (const auto* l = std::get_if<RecordedLoop>(&item.what))
      n += count_device_graphs(*l->condition) + count_device_graphs(*l->body);
  }
  return n;
}

}  // namespace

std::size_t GraphImpl::device_graphs() const {
  std::size_t n = 0;
  for (const CapturedRun& run : runs_) n += count_device_graphs(run.recording);
  return n;
}

Graph::Graph() : impl_(std::make_unique<GraphImpl>()) {}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

void Graph::capture_begin(const Stream& stream) {
  impl_->begin(stream);
}
void Graph::capture_end() {
  impl_->end();
}
void Graph::replay() {
  impl_->replay();
}
void Graph::reset() {
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
