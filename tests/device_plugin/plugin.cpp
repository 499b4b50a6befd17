// Test devices in host memory: delay all work as long as allowed, fail on request, and count live objects.
// TERN_TEST_DEVICE names the device; TERN_TEST_GRAPH, TERN_TEST_CONDITIONAL and TERN_TEST_PARTITION add these
// extensions; TERN_TEST_CONDITIONAL also adds all others.
#include <sys/mman.h>
#include <tern/device.h>

#define tern_device_library tern_example_device_library
#include "examples/device/device.cpp"
#undef tern_device_library

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "tests/device_plugin/control.h"
#include "tests/device_plugin/queue.h"

namespace {

using tern::testing::CopyCounts;
using tern::testing::DeviceControl;
using tern::testing::DeviceCounts;
using tern::testing::Moment;
using tern::testing::PartCounts;
using tern::testing::Queue;
using tern::testing::WorkList;

/// Serialises all access to the plugin.
std::recursive_mutex lock;

struct State {
  std::string failing;
  int countdown = 0;
  tern_device_status status = TERN_DEVICE_OK;
  bool failed = false;
  DeviceCounts counts;
  std::uint64_t memory = std::uint64_t{1} << 40, launches = 0, overridden = 0, collectives = 0;
  std::map<tern_device_address, std::uint64_t> blocks;
  std::set<tern_device_address> pieces;               ///< mapped pieces
  std::map<std::string, tern_device_module> modules;  ///< keyed by source: compiled once for all devices
  std::string annotations;
  CopyCounts copies;
  PartCounts part_counts;
} state;

/// Called at the start of every function: injects the requested failure.
bool injected(const char* function, tern_device_status* status) {
  if (state.failing != function || --state.countdown != 0) return false;
  state.failing.clear();
  state.failed = true;
  *status = set_error(state.status, std::string("the test wants ") + function + " to fail");
  return true;
}
#define TERN_ENTER(function)                           \
  const std::lock_guard guard(lock);                   \
  if (tern_device_status s; injected(#function, &s)) { \
    return s;                                          \
  }

struct Stream {
  std::shared_ptr<Queue> queue = std::make_shared<Queue>();
};
Queue& queue_of(tern_device_stream s) {
  return *reinterpret_cast<Stream*>(s)->queue;
}
const std::shared_ptr<Moment>& moment_of(tern_device_event e) {
  return *reinterpret_cast<std::shared_ptr<Moment>*>(e);
}
void* pointer(tern_device_address a) {
  return reinterpret_cast<void*>(a);
}

#include "tests/device_plugin/memory_segments.inc"
#include "tests/device_plugin/native_stream.inc"
#include "tests/device_plugin/partition.inc"
#include "tests/device_plugin/pinned_memory.inc"
#include "tests/device_plugin/profiler.inc"
#include "tests/device_plugin/share.inc"
// Uses names of the others.
#include "tests/device_plugin/collective.inc"

tern_device_status test_count(std::int32_t* n) {
  if (std::string(TERN_TEST_DEVICE) == "broken") return set_error(TERN_DEVICE_FAILED, "the driver is missing");
  *n = 512;  // each device compiles its own kernels
  return TERN_DEVICE_OK;
}

tern_device_status test_properties(std::int32_t device, tern_device_properties* p) {
  TERN_ENTER(properties);
  device_properties(device, p);
  // "graph" claims that its kernels read host memory.
  p->memory_bytes = std::uint64_t{1} << 33;
  p->features = TERN_DEVICE_DOUBLE | (TERN_TEST_GRAPH && !TERN_TEST_CONDITIONAL ? TERN_DEVICE_HOST_MEMORY : 0);
  return TERN_DEVICE_OK;
}

tern_device_status test_allocate(std::int32_t device, std::uint64_t bytes, tern_device_address* address) {
  TERN_ENTER(allocate);
  if (bytes > state.memory - std::min(state.memory, state.counts.bytes))
    return set_error(TERN_DEVICE_OUT_OF_MEMORY, "no memory left");
  const tern_device_status status = allocate(device, bytes, address);
  if (status != TERN_DEVICE_OK) return status;
  std::memset(pointer(*address), 0xa5, bytes);  // callers must not rely on zeros
  state.blocks[*address] = bytes;
  state.counts.bytes += bytes;
  ++state.counts.allocations;
  return status;
}
tern_device_status test_free(std::int32_t device, tern_device_address address) {
  TERN_ENTER(free);
  state.counts.bytes -= state.blocks.at(address);
  state.blocks.erase(address);
  --state.counts.allocations;
  return release(device, address);
}

tern_device_status test_copy_to_device(std::int32_t, tern_device_stream stream, tern_device_address to,
                                       const void* from, std::uint64_t bytes) {
  TERN_ENTER(copy_to_device);
  ++state.copies.to_device;
  queue_of(stream).add_timed(kCopyTime, [=] { std::memcpy(pointer(to), from, bytes); });
  return TERN_DEVICE_OK;
}
tern_device_status test_copy_to_host(std::int32_t, tern_device_stream stream, void* to, tern_device_address from,
                                     std::uint64_t bytes) {
  TERN_ENTER(copy_to_host);
  ++state.copies.to_host;
  queue_of(stream).add_timed(kCopyTime, [=] { std::memcpy(to, pointer(from), bytes); });
  return TERN_DEVICE_OK;
}
tern_device_status test_copy_within(std::int32_t, tern_device_stream stream, tern_device_address to,
                                    tern_device_address from, std::uint64_t bytes) {
  TERN_ENTER(copy_within);
  ++state.copies.within;
  queue_of(stream).add_timed(kCopyTime, [=] { std::memcpy(pointer(to), pointer(from), bytes); });
  return TERN_DEVICE_OK;
}

tern_device_status test_stream_create(std::int32_t, tern_device_stream* stream) {
  TERN_ENTER(stream_create);
  *stream = reinterpret_cast<tern_device_stream>(new Stream);
  ++state.counts.streams;
  return TERN_DEVICE_OK;
}
tern_device_status test_stream_destroy(std::int32_t, tern_device_stream stream) {
  const std::lock_guard guard(lock);
  Queue& q = queue_of(stream);
  q.run(q.put);
  delete reinterpret_cast<Stream*>(stream);
  --state.counts.streams;
  tern_device_status status = TERN_DEVICE_OK;
  injected("stream_destroy", &status);
  return status;
}
tern_device_status test_stream_synchronize(std::int32_t, tern_device_stream stream) {
  const std::lock_guard guard(lock);
  Queue& q = queue_of(stream);
  q.run(q.put);  // failed work has ended, too
  tern_device_status status = TERN_DEVICE_OK;
  if (injected("stream_synchronize", &status)) return status;
  if (!q.failure.empty()) return set_error(TERN_DEVICE_FAILED, q.failure);
  return status;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

tern_device_status test_event_create(std::int32_t, tern_device_event* event) {
  TERN_ENTER(event_create);
  *event = reinterpret_cast<tern_device_event>(new std::shared_ptr(std::make_shared<Moment>()));
  ++state.counts.events;
  return TERN_DEVICE_OK;
}
tern_device_status test_event_destroy(std::int32_t, tern_device_event event) {
  const std::lock_guard guard(lock);
  delete &moment_of(event);
  --state.counts.events;
  tern_device_status status = TERN_DEVICE_OK;
  injected("event_destroy", &status);
  return status;
}
tern_device_status test_event_record(std::int32_t, tern_device_event event, tern_device_stream stream) {
  TERN_ENTER(event_record);
  const std::shared_ptr<Moment> m = moment_of(event);
  m->queue = reinterpret_cast<Stream*>(stream)->queue;
  m->queue->add([m] { m->seconds = now(); });
  m->place = m->queue->put;
  return TERN_DEVICE_OK;
}
tern_device_status test_event_synchronize(std::int32_t, tern_device_event event) {
  const std::lock_guard guard(lock);
  moment_of(event)->wait();
  tern_device_status status = TERN_DEVICE_OK;
  injected("event_synchronize", &status);
  return status;
}
tern_device_status test_stream_wait(std::int32_t, tern_device_stream stream, tern_device_event event) {
  TERN_ENTER(stream_wait);
  const Moment m = *moment_of(event);
  queue_of(stream).add([m] { m.wait(); });
  return TERN_DEVICE_OK;
}
tern_device_status test_event_query(std::int32_t, tern_device_event event, std::int32_t* happened) {
  const std::lock_guard guard(lock);
  const Moment& m = *moment_of(event);
  *happened = m.queue == nullptr || m.queue->done >= m.place ? 1 : 0;
  return TERN_DEVICE_OK;
}
tern_device_status test_event_elapsed(std::int32_t, tern_device_event from, tern_device_event to, double* seconds) {
  const std::lock_guard guard(lock);
  *seconds = moment_of(to)->seconds - moment_of(from)->seconds;
  return TERN_DEVICE_OK;
}

tern_device_status test_module_load(std::int32_t device, const tern_device_source* source, tern_device_module* module) {
  TERN_ENTER(module_load);
  tern_device_module& compiled = state.modules[std::string(source->text, source->length)];
  if (compiled == nullptr) {
    const tern_device_status status = module_load(device, source, &compiled);
    if (status != TERN_DEVICE_OK) return status;
  }
  *module = compiled;
  ++state.counts.modules;
  return TERN_DEVICE_OK;
}
tern_device_status test_module_unload(std::int32_t, tern_device_module) {
  const std::lock_guard guard(lock);
  --state.counts.modules;
  return TERN_DEVICE_OK;
}
tern_device_status test_module_kernel(std::int32_t device, tern_device_module module, const char* name,
                                      tern_device_kernel* kernel) {
  TERN_ENTER(module_kernel);
  return module_kernel(device, module, name, kernel);
}
tern_device_status test_launch(std::int32_t, tern_device_stream stream, tern_device_kernel kernel,
                               const tern_device_launch* l) {
  TERN_ENTER(launch);
  std::vector<std::vector<std::uint8_t>> values;
  for (std::uint32_t i = 0; i < l->argument_count; ++i) {
    const auto* bytes = static_cast<const std::uint8_t*>(l->arguments[i].data);
    values.emplace_back(bytes, bytes + l->arguments[i].size);
  }
  queue_of(stream).add_timed(kLaunchTime, [values, kernel, items = l->items] {
    std::vector<const void*> arguments;
    for (const auto& v : values) arguments.push_back(v.data());
    kernel->function(arguments.data(), 0, items);
    ++state.launches;
  });
  return TERN_DEVICE_OK;
}

#include "tests/device_plugin/graph.inc"

// "override": rms_norm of contiguous float32 without a weight, in double.
struct Norm {
  std::int64_t rows, width;
  double epsilon;
};

const tern_device_attribute* attribute(const tern_device_op* op, const char* name) {
  const auto* end = op->attributes + op->attribute_count;
  const auto* found = std::find_if(op->attributes, end, [&](const auto& a) { return std::string(a.name) == name; });
  return found == end ? nullptr : found;
}

tern_device_status override_prepare(std::int32_t, const tern_device_op* op, tern_device_override* out,
                                    std::uint64_t* scratch_bytes) {
  TERN_ENTER(override_prepare);
  constexpr int kFloat32 = 12;
  const tern_device_attribute* axes = op->name == std::string("rms_norm") ? attribute(op, "k") : nullptr;
  if (axes == nullptr) return set_error(TERN_DEVICE_UNSUPPORTED, "not this op");
  const tern_device_tensor& x = op->inputs[0];
  if (x.dtype != kFloat32 || x.rank != 2 || x.strides[1] != 1 || x.strides[0] != x.sizes[1] ||
      (op->input_count > 1 && op->inputs[1].dtype != 0) || axes->integers[0] != 1)
    return set_error(TERN_DEVICE_UNSUPPORTED, "not this one");
  const tern_device_attribute* epsilon = attribute(op, "epsilon");
  *out = reinterpret_cast<tern_device_override>(
      new Norm{x.sizes[0], x.sizes[1], epsilon == nullptr ? 0 : epsilon->numbers[0]});
  *scratch_bytes = 64;
  ++state.counts.overrides;
  return TERN_DEVICE_OK;
}
tern_device_status override_run(std::int32_t, tern_device_stream stream, tern_device_override handle,
                                const tern_device_op* op, tern_device_address scratch) {
  TERN_ENTER(override_run);
  const Norm n = *reinterpret_cast<Norm*>(handle);
  queue_of(stream).add_timed(kOverrideTime, [n, scratch, from = op->inputs[0].data, to = op->outputs[0].data] {
    const auto* x = static_cast<const float*>(pointer(from));
    auto* y = static_cast<float*>(pointer(to));
    auto* sum = static_cast<double*>(pointer(scratch));
    for (std::int64_t r = 0; r < n.rows; ++r, x += n.width, y += n.width) {
      *sum = 0;
      for (std::int64_t i = 0; i < n.width; ++i) *sum += static_cast<double>(x[i]) * x[i];
      const double scale = 1 / std::sqrt(*sum / static_cast<double>(n.width) + n.epsilon);
      for (std::int64_t i = 0; i < n.width; ++i) y[i] = static_cast<float>(x[i] * scale);
    }
    ++state.overridden;
  });
  return TERN_DEVICE_OK;
}
tern_device_status override_release(std::int32_t, tern_device_override handle) {
  const std::lock_guard guard(lock);
  delete reinterpret_cast<Norm*>(handle);
  --state.counts.overrides;
  return TERN_DEVICE_OK;
}

// Controls for tests.
constexpr DeviceControl kControl = {
    [](const char* function, int nth, tern_device_status status) {
      const std::lock_guard guard(lock);
      state.failing = nth > 0 ? function : "";
      state.countdown = nth;
      state.status = status;
      state.failed = false;
    },
    [] { return state.failed; },
    [] { return state.counts; },
    [](std::uint64_t bytes) { state.memory = bytes; },
    [] { return state.launches; },
    [] { return state.overridden; },
    [] { return state.collectives; },
    [] { return state.part_counts; },
    [] { return state.annotations.c_str(); },
    [] { return state.copies; },
};

constexpr tern_device_event_functions kEvents = {sizeof kEvents, TERN_DEVICE_EVENTS_ANY_THREAD, test_event_query,
                                                 test_event_elapsed};
constexpr tern_device_graph_functions kGraphs = {sizeof kGraphs, 0,
                                                 graph_begin,    graph_end,
                                                 graph_launch,   graph_destroy,
                                                 graph_annotate, TERN_TEST_CONDITIONAL ? graph_update : nullptr};
constexpr tern_device_graph_conditional_functions kConditionals = {sizeof kConditionals, 0,           begin_if,
                                                                   begin_else,           begin_while, end_body};
constexpr tern_device_override_functions kOverrides = {sizeof kOverrides, 0, override_prepare, override_run,
                                                       override_release};

const void* test_get_extension(const char* name, std::uint32_t version) {
  const std::string wanted = name;
  if (wanted == "test") return &kControl;
  if (version != TERN_DEVICE_EXTENSION_VERSION) return nullptr;
  if (TERN_TEST_PARTITION && wanted == "partition") return &kPartitions;
  if (TERN_TEST_GRAPH && wanted == "graph") return &kGraphs;
  if (TERN_TEST_CONDITIONAL && wanted == "graph_conditional") return &kConditionals;
  if ((TERN_TEST_CONDITIONAL || TERN_TEST_PARTITION) && wanted == "events") return &kEvents;
  if (TERN_TEST_CONDITIONAL && wanted == "override") return &kOverrides;
  if (TERN_TEST_CONDITIONAL && wanted == "collective") return &kCollectives;
  if (TERN_TEST_CONDITIONAL && wanted == "profiler") return &kProfiler;
  if (TERN_TEST_CONDITIONAL && wanted == "memory_segments") return &kMemorySegments;
  if (TERN_TEST_CONDITIONAL && wanted == "native_stream") return &kNativeStreams;
  if (TERN_TEST_CONDITIONAL && wanted == "pinned_memory") return &kPinnedMemory;
  if (TERN_TEST_CONDITIONAL && wanted == "share") return &kShares;
  return nullptr;
}

constexpr tern_device_plugin kTestPlugin = {
    sizeof(tern_device_plugin),
    TERN_DEVICE_ABI,
    TERN_TEST_DEVICE,
    get_last_message,
    test_count,
    test_properties,
    test_allocate,
    test_free,
    test_copy_to_device,
    test_copy_to_host,
    test_copy_within,
    test_stream_create,
    test_stream_destroy,
    test_stream_synchronize,
    test_event_create,
    test_event_destroy,
    test_event_record,
    test_event_synchronize,
    test_stream_wait,
    test_module_load,
    test_module_unload,
    test_module_kernel,
    test_launch,
    test_get_extension,
};

}  // namespace

const tern_device_plugin* tern_device_library(void) {
  return &kTestPlugin;
}
