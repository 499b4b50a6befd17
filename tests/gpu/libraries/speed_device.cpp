#include "tests/gpu/libraries/speed_device.h"

#include <dlfcn.h>

#include <algorithm>
#include <stdexcept>

namespace tern::gpu {
namespace {

constexpr int kCalls = 10;        // calls per graph
constexpr int kMeasurements = 3;  // the minimum counts
constexpr double kLong = 2000;    // microseconds; longer calls are measured singly

}  // namespace

SpeedDevice::SpeedDevice() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) throw std::runtime_error("the CUDA driver is missing: no library libcuda.so.1");
#define TERN_LOAD(name, cuda, hip, parameters) api_.name = reinterpret_cast<decltype(api_.name)>(dlsym(library, #cuda));
  TERN_GPU_FUNCTIONS(TERN_LOAD)
  TERN_GPU_OPTIONAL_FUNCTIONS(TERN_LOAD)
#undef TERN_LOAD
  const auto retain = reinterpret_cast<Status (*)(Context*, int)>(dlsym(library, "cuDevicePrimaryCtxRetain"));
  const auto set = reinterpret_cast<Status (*)(Context)>(dlsym(library, "cuCtxSetCurrent"));
  if (api_.init == nullptr || retain == nullptr || set == nullptr)
    throw std::runtime_error("libcuda.so.1 is no CUDA driver");
  check(api_.init(0), "cuInit");
  int device = 0;
  char name[256] = {};
  check(api_.device_get(&device, 0), "cuDeviceGet");
  check(api_.device_name(name, sizeof name, device), "cuDeviceGetName");
  name_ = name;
  Context context = nullptr;
  check(retain(&context, device), "cuDevicePrimaryCtxRetain");
  check(set(context), "cuCtxSetCurrent");
  check(api_.stream_create(&stream_, kNonBlocking), "cuStreamCreate");
  check(api_.event_create(&start_event_, 0), "cuEventCreate");
  check(api_.event_create(&end_event_, 0), "cuEventCreate");
}

// The process end releases all other objects.
SpeedDevice::~SpeedDevice() {
  for (const Address a : memory_) api_.free(a);
}

void SpeedDevice::check(Status error, const char* call) const {
  if (error != kSuccess) throw std::runtime_error(std::string(call) + ": CUDA error " + std::to_string(error));
}

Address SpeedDevice::allocate(std::uint64_t bytes, const std::vector<char>& pattern) {
  Address address = 0;
  check(api_.allocate(&address, bytes), "cuMemAlloc");
  memory_.push_back(address);
  if (pattern.empty()) return address;
  std::uint64_t filled = std::min<std::uint64_t>(bytes, pattern.size());
  check(api_.copy_to_device(address, pattern.data(), filled, stream_), "cuMemcpyHtoDAsync");
  for (; filled < bytes; filled *= 2)
    check(api_.copy_within(address + filled, address, std::min(filled, bytes - filled), stream_), "cuMemcpyDtoDAsync");
  check(api_.stream_synchronize(stream_), "cuStreamSynchronize");
  return address;
}

void SpeedDevice::free_all() {
  check(api_.stream_synchronize(stream_), "cuStreamSynchronize");
  for (const Address a : memory_) check(api_.free(a), "cuMemFree");
  memory_.clear();
}

double SpeedDevice::elapsed(const std::function<void()>& work) {
  check(api_.event_record(start_event_, stream_), "cuEventRecord");
  work();
  check(api_.event_record(end_event_, stream_), "cuEventRecord");
  check(api_.event_synchronize(end_event_), "cuEventSynchronize");
  float milliseconds = 0;
  check(api_.event_elapsed(&milliseconds, start_event_, end_event_), "cuEventElapsedTime");
  return 1e3 * milliseconds;
}

/// Null if the calls cannot be captured.
GraphExec SpeedDevice::capture(const std::function<bool()>& work, int calls) {
  if (api_.capture_begin == nullptr || api_.graph_instantiate == nullptr) return nullptr;
  check(api_.capture_begin(stream_, kRelaxed), "cuStreamBeginCapture");
  bool good = true;
  for (int i = 0; i < calls && good; ++i) good = work();
  Graph graph = nullptr;
  GraphExec exec = nullptr;
  if (api_.capture_end(stream_, &graph) != kSuccess || graph == nullptr) return nullptr;
  if (!good || api_.graph_instantiate(&exec, graph, 0) != kSuccess) exec = nullptr;
  api_.graph_destroy(graph);
  return exec;
}

std::optional<double> SpeedDevice::microseconds(const std::function<bool()>& work) {
  bool good = true;
  const auto once = [&] { good = good && work(); };
  once();  // loads kernels
  check(api_.stream_synchronize(stream_), "cuStreamSynchronize");
  double least = elapsed(once);
  if (!good || least > kLong) return good ? std::optional(least) : std::nullopt;
  const GraphExec graph = capture(work, kCalls);
  const auto all = [&] {
    if (graph != nullptr) return check(api_.graph_launch(graph, stream_), "cuGraphLaunch");
    for (int i = 0; i < kCalls; ++i) once();
  };
  all();
  for (int i = 0; i < kMeasurements; ++i) least = std::min(least, elapsed(all) / kCalls);
  if (graph != nullptr) api_.graph_exec_destroy(graph);
  return good ? std::optional(least) : std::nullopt;
}

}  // namespace tern::gpu
