// The functions of libcudnn.so.9 that Tern calls.
#include <algorithm>
#include <cstring>

#include "tests/gpu/libraries/cudnn/rules.h"
#include "tests/gpu/libraries/driver.h"

using namespace tern;
using namespace tern::gpu;
using namespace tern::gpu::cudnn;
using namespace tern::stand_in;

#define STAND_IN extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kBadParameter = 2000, kNotSupported = 3000;  // CUDNN_STATUS_BAD_PARAM, CUDNN_STATUS_NOT_SUPPORTED
constexpr std::int64_t kWorkspace = 2048;
constexpr std::int64_t kEngines = 2;

struct Handle {
  Function convolution;
  Stream stream;
};

/// The graph that an engine, its configuration or a plan is for.
const Object& graph_of(const Object& heuristic) {
  return heuristic.object(kHeuristicGraph);
}

/// Puts `made` behind a handle that the caller has created.
void fill(CudnnDescriptor handle, int kind, const ObjectPointer& made) {
  ObjectPointer& place = find(handle);
  if (place->kind != kind)
    misuse("cuDNN: a descriptor of kind %d as the place of a result of kind %d", place->kind, kind);
  place = made;
}

ObjectPointer engine_object(int kind, const ObjectPointer& graph, std::int64_t engine) {
  ObjectPointer made = make(kind);
  made->values[kHeuristicGraph].objects = {graph};
  made->engine = engine;
  made->is_final = true;
  return made;
}

/// Every heuristic proposes the engine that rounds first.
int results(const Object& heuristic, std::int64_t wanted, std::int64_t* count, void* values) {
  const ObjectPointer& graph = heuristic.values.at(kHeuristicGraph).objects[0];
  *count = 0;
  if (!stand_in::read(*graph)) return kNotSupported;
  *count = std::min(wanted, kEngines);
  for (std::int64_t i = 0; i < *count; ++i)
    fill(static_cast<CudnnDescriptor*>(values)[i], kEngineConfig, engine_object(kEngineConfig, graph, i));
  return kSuccess;
}

int notes(const Object& engine, std::int64_t wanted, std::int64_t* count, void* values) {
  const bool is_single = stand_in::read(graph_of(engine))->dtype == DType::f32;
  *count = is_single && engine.engine == 0 && wanted > 0 ? 1 : 0;
  if (*count == 1) *static_cast<int*>(values) = kTensorCore;
  return kSuccess;
}

std::uint64_t address_of(const Object& pack, const Object& tensor) {
  const auto numbers = pack.all<std::int64_t>(kPackNumbers);
  const auto addresses = pack.all<std::uint64_t>(kPackAddresses);
  if (numbers.size() != addresses.size())
    misuse("cuDNN: %zu numbers and %zu addresses", numbers.size(), addresses.size());
  const auto at = std::ranges::find(numbers, tensor.one<std::int64_t>(kTensorNumber));
  if (at == numbers.end()) misuse("cuDNN: a tensor without an address");
  const std::uint64_t address = addresses[static_cast<std::size_t>(at - numbers.begin())];
  const auto alignment = static_cast<std::uint64_t>(tensor.one<std::int64_t>(kTensorAlignment));
  if (address == 0 || address % alignment != 0)
    misuse("cuDNN: an address of 0x%llx, which is no multiple of %llu", static_cast<unsigned long long>(address),
           static_cast<unsigned long long>(alignment));
  return address;
}

}  // namespace

STAND_IN std::size_t cudnnGetVersion() {
  return 91900;
}
STAND_IN std::size_t cudnnGetCudartVersion() {
  return 13000;
}

STAND_IN int cudnnCreate(CudnnHandle* handle) {
  const Function convolution = load(kConvolutionKernel);
  if (convolution == nullptr) return kBadParameter;
  *handle = new Handle{convolution, nullptr};
  return kSuccess;
}
STAND_IN int cudnnSetStream(CudnnHandle handle, Stream stream) {
  static_cast<Handle*>(handle)->stream = stream;
  return kSuccess;
}

STAND_IN int cudnnBackendCreateDescriptor(int kind, CudnnDescriptor* descriptor) {
  *descriptor = new ObjectPointer(make(kind));
  return kSuccess;
}
STAND_IN int cudnnBackendDestroyDescriptor(CudnnDescriptor descriptor) {
  delete &find(descriptor);
  return kSuccess;
}
STAND_IN int cudnnBackendSetAttribute(CudnnDescriptor descriptor, int name, int type, std::int64_t count,
                                      const void* values) {
  set(*find(descriptor), name, type, count, values);
  return kSuccess;
}

STAND_IN int cudnnBackendFinalize(CudnnDescriptor descriptor) {
  Object& object = *find(descriptor);
  finalize(object);
  if (object.kind == kGraph && !stand_in::read(object)) return kNotSupported;
  return kSuccess;
}

STAND_IN int cudnnBackendGetAttribute(CudnnDescriptor descriptor, int name, int type, std::int64_t wanted,
                                      std::int64_t* count, void* values) {
  const ObjectPointer object = find(descriptor);
  if (!object->is_final || count == nullptr || values == nullptr) misuse("cuDNN: attribute %d cannot be read", name);
  if (object->kind == kHeuristic && name == kHeuristicResults && type == kTypeDescriptor)
    return results(*object, wanted, count, values);
  if (object->kind == kEngineConfig && name == kEngineConfigEngine && type == kTypeDescriptor) {
    *count = 1;
    fill(*static_cast<CudnnDescriptor*>(values), kEngine,
         engine_object(kEngine, object->values.at(kHeuristicGraph).objects[0], object->engine));
    return kSuccess;
  }
  if (object->kind == kEngine && name == kEngineNotes && type == kTypeNote)
    return notes(*object, wanted, count, values);
  if (object->kind == kPlan && name == kPlanWorkspace && type == kTypeInt64) {
    *count = 1;
    *static_cast<std::int64_t*>(values) = kWorkspace;
    return kSuccess;
  }
  misuse("cuDNN: attribute %d of type %d of a descriptor of kind %d is read", name, type, object->kind);
}

STAND_IN int cudnnBackendExecute(CudnnHandle handle, CudnnDescriptor plan_handle, CudnnDescriptor pack_handle) {
  const Object &plan = *find(plan_handle), &pack = *find(pack_handle);
  if (plan.kind != kPlan || pack.kind != kPack || !plan.is_final || !pack.is_final)
    misuse("cuDNN: what is executed is no plan, or has no pack");
  const Object& config = plan.object(kPlanEngineConfig);
  const Object& graph = graph_of(config);
  ConvolutionCall call = *stand_in::read(graph);
  const Object& forward = graph.object(kGraphOperations, 0);
  call.x.address = address_of(pack, forward.object(kForwardX));
  call.w.address = address_of(pack, forward.object(kForwardW));
  if (call.bias != 0) call.bias = address_of(pack, graph.object(kGraphOperations, 1).object(kPointwiseB));
  const Object& last = *graph.values.at(kGraphOperations).objects.back();
  call.y.address = address_of(pack, last.object(&last == &forward ? kForwardY : kPointwiseY));
  call.workspace = pack.one<std::uint64_t>(kPackWorkspace);
  call.workspace_bytes = kWorkspace;
  if (call.workspace == 0 || call.workspace % 16 != 0) misuse("cuDNN: no workspace");
  call.rounds = call.dtype == DType::f32 && config.engine == 0;
  const Handle& h = *static_cast<Handle*>(handle);
  return launch(h.convolution, &call, h.stream) == kSuccess ? kSuccess : kBadParameter;
}
