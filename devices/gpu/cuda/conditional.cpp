// "graph_conditional": control flow in CUDA graphs by conditional nodes, without the host. The node is added to the
// graph captured by a stream; another stream captures each body.
#include "devices/gpu/cuda/condition.h"
#include "devices/gpu/cuda/conditional_api.h"
#include "devices/gpu/devices.h"
#include "devices/gpu/graph_times.h"
#include "devices/gpu/handles.h"
#include "devices/gpu/library.h"
#include "devices/gpu/share.h"
#include "devices/gpu/status.h"
#include "devices/gpu/tables.h"
#include "devices/gpu/vendor.h"

namespace tern::gpu {
namespace {

constexpr int kFirstDriver = 12040;    // CUDA 12.4: nested bodies
constexpr int kFirstWithElse = 12080;  // CUDA 12.8: IF with two bodies
const ConditionalApi& conditional_api() {
  static const ConditionalApi found = [] {
    ConditionalApi a;
    TERN_GPU_CONDITIONAL(TERN_GPU_LOAD_NEWER)
    return a;
  }();
  return found;
}

/// Graph captured by the stream, and the dependencies of the stream's next work.
struct StreamCapture {
  Graph graph = nullptr;
  const GraphNode* nodes = nullptr;
  std::size_t count = 0;
};

tern_device_status captured(Stream stream, StreamCapture* c) {
  int status = 0;
  std::uint64_t id = 0;
  return checked(conditional_api().capture_info(stream, &status, &id, &c->graph, &c->nodes, nullptr, &c->count),
                 "asking for the graph that is captured");
}

/// A condition, its node and its bodies' nodes share one context.
Context context_of(const GpuDevice& d, const tern_device_stream_s& stream) {
  return stream.device_share == nullptr ? d.context->load() : stream.device_share->context;
}

tern_device_status make_handle(Context context, Stream stream, std::uint64_t* handle) {
  StreamCapture c;
  TERN_GPU_TRY(captured(stream, &c));
  return checked(conditional_api().create_handle(handle, c.graph, context, 0, 0), "making a condition");
}

/// Adds a node after all captured work; the stream's next work depends on the node.
tern_device_status add_node(Context context, Stream stream, ConditionalKind kind, std::uint64_t condition,
                            unsigned size, Graph* bodies) {
  StreamCapture c;
  TERN_GPU_TRY(captured(stream, &c));
  ConditionalNode p;
  p.handle = condition;
  p.kind = kind;
  p.size = size;
  p.context = context;
  GraphNode node = nullptr;
  TERN_GPU_TRY(checked(conditional_api().add_node(&node, c.graph, c.nodes, nullptr, c.count, &p),
                       "adding control flow to a graph"));
  for (unsigned i = 0; i < size; ++i) bodies[i] = p.bodies[i];
  return checked(conditional_api().replace_dependencies(stream, &node, nullptr, 1, kReplaceDependencies),
                 "going on behind control flow");
}

tern_device_status open_body(tern_device_stream stream, OpenBody body, Graph graph) {
  const Status made = stream->device_share == nullptr ? api().stream_create(&body.stream, kNonBlocking)
                                                      : stream->device_share->make_stream(&body.stream);
  TERN_GPU_TRY(checked(made, "making a stream for a body"));
  if (const Status error = conditional_api().capture_to_graph(body.stream, graph, nullptr, nullptr, 0, kRelaxed);
      error != kSuccess) {
    api().stream_destroy(body.stream);
    return checked(error, "beginning a body");
  }
  stream->bodies.push_back(body);
  return TERN_DEVICE_OK;
}

tern_device_status begin_if(std::int32_t device, tern_device_stream stream, tern_device_address predicate) {
  TERN_GPU_ENTER(device);
  const Context context = context_of(*d, *stream);
  const Stream s = stream->current();
  const bool has_else = d->driver_number >= kFirstWithElse;
  Graph bodies[2] = {};
  std::uint64_t condition = 0;
  std::uint64_t opposite = 0;
  TERN_GPU_TRY(make_handle(context, s, &condition));
  if (!has_else) TERN_GPU_TRY(make_handle(context, s, &opposite));
  TERN_GPU_TRY(set_condition(*d, s, predicate, condition, opposite));
  TERN_GPU_TRY(add_node(context, s, ConditionalKind::branch, condition, has_else ? 2 : 1, bodies));
  // Sets the second condition before the first body, because that body may change the predicate.
  if (!has_else) TERN_GPU_TRY(add_node(context, s, ConditionalKind::branch, opposite, 1, bodies + 1));
  OpenBody body;
  body.otherwise = bodies[1];
  return open_body(stream, body, bodies[0]);
}

tern_device_status begin_else(std::int32_t device, tern_device_stream stream) {
  TERN_GPU_ENTER(device);
  const OpenBody body = stream->bodies.back();
  TERN_GPU_TRY(checked(close_body(stream->bodies), "ending a body"));
  return open_body(stream, {}, body.otherwise);
}

tern_device_status begin_while(std::int32_t device, tern_device_stream stream, tern_device_address predicate) {
  TERN_GPU_ENTER(device);
  const Context context = context_of(*d, *stream);
  const Stream s = stream->current();
  Graph graph = nullptr;
  OpenBody body;
  body.predicate = predicate;
  TERN_GPU_TRY(make_handle(context, s, &body.condition));
  TERN_GPU_TRY(set_condition(*d, s, predicate, body.condition, 0));
  TERN_GPU_TRY(add_node(context, s, ConditionalKind::loop, body.condition, 1, &graph));
  return open_body(stream, body, graph);
}

tern_device_status end_body(std::int32_t device, tern_device_stream stream) {
  TERN_GPU_ENTER(device);
  const OpenBody& body = stream->bodies.back();
  if (body.condition != 0) TERN_GPU_TRY(set_condition(*d, body.stream, body.predicate, body.condition, 0));
  return checked(close_body(stream->bodies), "ending a body");
}

constexpr tern_device_graph_conditional_functions kConditional = {sizeof kConditional, 0,           begin_if,
                                                                  begin_else,          begin_while, end_body};

}  // namespace

tern_device_status prepare_graphs(const GpuDevice& d) {
  return graph_conditional_functions() == nullptr ? TERN_DEVICE_OK : load_condition_kernel(d);
}

Status record_in_graph(Stream stream, Event event) {
  StreamCapture c;
  if (!conditional_api().complete || api().graph_add_event == nullptr) return names::kNotSupported;
  if (captured(stream, &c) != TERN_DEVICE_OK) return names::kNotSupported;
  GraphNode node = nullptr;
  if (const Status error = api().graph_add_event(&node, c.graph, c.nodes, c.count, event); error != kSuccess)
    return error;
  return conditional_api().replace_dependencies(stream, &node, nullptr, 1, kReplaceDependencies);
}

Status close_body(std::vector<OpenBody>& bodies) {
  const Stream stream = bodies.back().stream;
  bodies.pop_back();
  Graph graph = nullptr;  // belongs to the node
  const Status ended = api().capture_end(stream, &graph);
  const Status destroyed = api().stream_destroy(stream);
  return ended != kSuccess ? ended : destroyed;
}

const tern_device_graph_conditional_functions* graph_conditional_functions() {
  std::string why;
  const std::vector<GpuDevice>& all = devices(&why);
  const bool has = !all.empty() && all[0].driver_number >= kFirstDriver && conditional_api().complete;
  return has ? &kConditional : nullptr;
}

}  // namespace tern::gpu
