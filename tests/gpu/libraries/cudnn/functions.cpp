// The functions of libcudnn.so.9 called by Tern.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "tests/gpu/libraries/attention_call.h"
#include "tests/gpu/libraries/cudnn/attention.h"
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
// The engines, values of Object::engine. A heuristic proposes many rounding engines before the exact engine, like cuDNN
// for float32 on an H100. For attention the compiling engine comes first after the rounding engines.
constexpr std::int64_t kRounds = 0, kExact = 1, kCompiling = 2;
constexpr std::int64_t kRoundingEngines = 40;

struct Handle {
  Function attention, convolution;
  Stream stream;
};

/// The graph of an engine, its configuration or a plan.
const Object& graph_of(const Object& heuristic) {
  return heuristic.object(kHeuristicGraph);
}

/// Puts `made` behind a handle created by the caller.
void fill(CudnnDescriptor handle, int kind, const ObjectPointer& made) {
  ObjectPointer& place = find(handle);
  if (place->kind != kind)
    misuse("cuDNN: a descriptor of kind %d as the place of a result of kind %d", place->kind, kind);
  place = made;
}

ObjectPointer engine_object(int kind, const ObjectPointer& graph, std::int64_t engine) {
  ObjectPointer made = create_object(kind);
  made->values[kHeuristicGraph].objects = {graph};
  made->engine = engine;
  made->is_final = true;
  return made;
}

bool is_taken(const Object& graph) {
  return is_attention(graph) ? read_attention(graph).has_value() : stand_in::read(graph).has_value();
}

/// Engines proposed by every heuristic.
std::vector<std::int64_t> proposed(const Object& graph) {
  std::vector<std::int64_t> engines;
  if (!is_taken(graph)) return engines;
  if (!is_attention(graph)) engines.push_back(kCompiling);
  engines.insert(engines.end(), kRoundingEngines, kRounds);
  if (is_attention(graph)) engines.push_back(kCompiling);
  engines.push_back(kExact);
  return engines;
}

/// "CUDNN_ATTR_ENGINEHEUR_RESULTS": no place for results asks for their number alone.
int results(const Object& heuristic, std::int64_t wanted, std::int64_t* count, void* values) {
  const ObjectPointer& graph = heuristic.values.at(kHeuristicGraph).objects[0];
  const std::vector<std::int64_t> engines = proposed(*graph);
  *count = std::ssize(engines);
  if (engines.empty()) return kNotSupported;
  if (values == nullptr) return kSuccess;
  *count = std::min(wanted, *count);
  for (std::int64_t i = 0; i < *count; ++i)
    fill(static_cast<CudnnDescriptor*>(values)[i], kEngineConfig,
         engine_object(kEngineConfig, graph, engines[static_cast<std::size_t>(i)]));
  return kSuccess;
}

int notes(const Object& engine, std::int64_t wanted, std::int64_t* count, void* values) {
  if (is_attention(graph_of(engine))) {
    *count = engine.engine == kRounds && wanted > 0 ? 1 : 0;
    if (*count == 1) *static_cast<int*>(values) = kReducesPrecision;
    return kSuccess;
  }
  const bool is_single = stand_in::read(graph_of(engine))->dtype == DType::f32;
  *count = is_single && engine.engine == kRounds && wanted > 0 ? 1 : 0;
  if (*count == 1) *static_cast<int*>(values) = kTensorCore;
  return kSuccess;
}

int behaviours(const Object& engine, std::int64_t wanted, std::int64_t* count, void* values) {
  *count = engine.engine == kCompiling && wanted > 0 ? 1 : 0;
  if (*count == 1) *static_cast<int*>(values) = kCompiles;
  return kSuccess;
}

/// Serialized plans: a restored plan comes from this process.
std::map<std::string, ObjectPointer>& written() {
  static auto* all = new std::map<std::string, ObjectPointer>;
  return *all;
}

int write(const ObjectPointer& plan, std::int64_t wanted, std::int64_t* count, void* values) {
  const std::string text = R"({"plan":)" + std::to_string(getpid()) + '.' + std::to_string(written().size()) + "}";
  *count = std::ssize(text) + 1;
  if (values == nullptr) return kSuccess;
  if (wanted < *count) return kBadParameter;
  std::memcpy(values, text.c_str(), text.size() + 1);
  written()[text] = plan->values.at(kPlanEngineConfig).objects[0];
  return kSuccess;
}

/// A plan has an engine configuration or a serialized plan.
bool restore(Object& plan) {
  if (!plan.has_value(kPlanJson)) {
    if (!plan.has_value(kPlanEngineConfig)) misuse("cuDNN: a plan without an engine");
    return true;
  }
  const std::vector<char> text = plan.elements<char>(kPlanJson);
  const auto at = written().find(std::string(text.begin(), text.end()));
  if (at == written().end()) return false;
  plan.values[kPlanEngineConfig].objects = {at->second};
  return true;
}

std::uint64_t address_of(const Object& pack, const Object& tensor, std::uint64_t alignment) {
  const auto numbers = pack.elements<std::int64_t>(kPackNumbers);
  const auto addresses = pack.elements<std::uint64_t>(kPackAddresses);
  if (numbers.size() != addresses.size())
    misuse("cuDNN: %zu numbers and %zu addresses", numbers.size(), addresses.size());
  const auto at = std::ranges::find(numbers, tensor.element<std::int64_t>(kTensorNumber));
  if (at == numbers.end()) misuse("cuDNN: a tensor without an address");
  const std::uint64_t address = addresses[static_cast<std::size_t>(at - numbers.begin())];
  if (address == 0 || address % alignment != 0)
    misuse("cuDNN: an address of 0x%llx, which is no multiple of %llu", static_cast<unsigned long long>(address),
           static_cast<unsigned long long>(alignment));
  return address;
}
std::uint64_t address_of(const Object& pack, const Object& tensor) {
  return address_of(pack, tensor, static_cast<std::uint64_t>(tensor.element<std::int64_t>(kTensorAlignment)));
}

std::uint64_t workspace_of(const Object& pack) {
  const auto workspace = pack.element<std::uint64_t>(kPackWorkspace);
  if (workspace == 0 || workspace % 16 != 0) misuse("cuDNN: no workspace");
  return workspace;
}

/// The tensor with this number among the operations' tensors.
const Object& tensor_of(const Object& graph, std::int64_t number) {
  for (const ObjectPointer& operation : graph.values.at(kGraphOperations).objects)
    for (const auto& [name, value] : operation->values)
      for (const ObjectPointer& o : value.objects)
        if (o->kind == kTensor && o->element<std::int64_t>(kTensorNumber) == number) return *o;
  misuse("cuDNN: no tensor %lld", static_cast<long long>(number));
}

int attend(const Handle& h, const Object& config, const Object& pack) {
  if (config.engine == kRounds) misuse("cuDNN: an engine that rounds parts of sums is used for attention");
  if (config.engine != kCompiling) misuse("cuDNN: attention leaves the engine that the heuristic has first");
  const Object& graph = graph_of(config);
  // Never freed: launches, and graphs with launches, read the graph.
  auto* const read = new AttentionGraph(*read_attention(graph));
  for (GraphTensor& t : read->tensors) {
    if (t.is_virtual) continue;
    const Object& tensor = tensor_of(graph, t.number);
    if (t.is_value) {
      // A host value, read during the call.
      t.value = *reinterpret_cast<const float*>(address_of(pack, tensor, 1));
    } else {
      t.address = address_of(pack, tensor, static_cast<std::uint64_t>(t.alignment));
    }
  }
  const AttentionCall call{[](const void* g) { run_attention(*static_cast<const AttentionGraph*>(g)); }, read,
                           workspace_of(pack), kWorkspace};
  return launch(h.attention, &call, h.stream) == kSuccess ? kSuccess : kBadParameter;
}

}  // namespace

STAND_IN std::size_t cudnnGetVersion() {
  const char* const version = std::getenv("TERN_STAND_IN_CUDNN");
  return version == nullptr ? 91900 : static_cast<std::size_t>(std::atoi(version));
}
STAND_IN std::size_t cudnnGetCudartVersion() {
  return 13000;
}

STAND_IN int cudnnCreate(CudnnHandle* handle) {
  const Function attention = load(kAttentionKernel), convolution = load(kConvolutionKernel);
  if (attention == nullptr || convolution == nullptr) return kBadParameter;
  *handle = new Handle{attention, convolution, nullptr};
  return kSuccess;
}
STAND_IN int cudnnSetStream(CudnnHandle handle, Stream stream) {
  if (is_to_fail("cudnnSetStream")) return kBadParameter;
  static_cast<Handle*>(handle)->stream = stream;
  return kSuccess;
}

STAND_IN int cudnnBackendCreateDescriptor(int kind, CudnnDescriptor* descriptor) {
  if (is_to_fail("cudnnBackendCreateDescriptor")) return kBadParameter;
  *descriptor = new ObjectPointer(create_object(kind));
  return kSuccess;
}
STAND_IN int cudnnBackendDestroyDescriptor(CudnnDescriptor descriptor) {
  delete &find(descriptor);
  return kSuccess;
}
STAND_IN int cudnnBackendSetAttribute(CudnnDescriptor descriptor, int name, int type, std::int64_t count,
                                      const void* values) {
  if (is_to_fail("cudnnBackendSetAttribute")) return kBadParameter;
  set(*find(descriptor), name, type, count, values);
  return kSuccess;
}

STAND_IN int cudnnBackendFinalize(CudnnDescriptor descriptor) {
  if (is_to_fail("cudnnBackendFinalize")) return kBadParameter;
  Object& object = *find(descriptor);
  if (object.kind == kPlan && (is_to_fail("cudnnBackendFinalize of a plan") || !restore(object))) return kBadParameter;
  if (object.kind == kHeuristic && is_to_fail("cudnnBackendFinalize of a heuristic")) return kBadParameter;
  finalize(object);
  if (object.kind == kGraph && !is_taken(object)) return kNotSupported;
  return kSuccess;
}

STAND_IN int cudnnBackendGetAttribute(CudnnDescriptor descriptor, int name, int type, std::int64_t wanted,
                                      std::int64_t* count, void* values) {
  if (is_to_fail("cudnnBackendGetAttribute")) return kBadParameter;
  const ObjectPointer object = find(descriptor);
  if (!object->is_final || count == nullptr) misuse("cuDNN: attribute %d cannot be read", name);
  if (object->kind == kHeuristic && name == kHeuristicResults && type == kTypeDescriptor)
    return results(*object, wanted, count, values);
  if (object->kind == kPlan && name == kPlanJson && type == kTypeChar) return write(object, wanted, count, values);
  if (values == nullptr) misuse("cuDNN: there is no place for attribute %d", name);
  if (object->kind == kEngineConfig && name == kEngineConfigEngine && type == kTypeDescriptor) {
    *count = 1;
    fill(*static_cast<CudnnDescriptor*>(values), kEngine,
         engine_object(kEngine, object->values.at(kHeuristicGraph).objects[0], object->engine));
    return kSuccess;
  }
  if (object->kind == kEngine && name == kEngineNotes && type == kTypeNote)
    return notes(*object, wanted, count, values);
  if (object->kind == kEngine && name == kEngineBehaviours && type == kTypeBehaviour)
    return behaviours(*object, wanted, count, values);
  if (object->kind == kEngine && name == kEngineIndex && type == kTypeInt64) {
    *count = 1;
    *static_cast<std::int64_t*>(values) = object->engine;
    return kSuccess;
  }
  if (object->kind == kPlan && name == kPlanWorkspace && type == kTypeInt64) {
    *count = 1;
    *static_cast<std::int64_t*>(values) = kWorkspace;
    return kSuccess;
  }
  misuse("cuDNN: attribute %d of type %d of a descriptor of kind %d is read", name, type, object->kind);
}

STAND_IN int cudnnBackendExecute(CudnnHandle handle, CudnnDescriptor plan_handle, CudnnDescriptor pack_handle) {
  if (is_to_fail("cudnnBackendExecute")) return kBadParameter;
  const Object &plan = *find(plan_handle), &pack = *find(pack_handle);
  if (plan.kind != kPlan || pack.kind != kPack || !plan.is_final || !pack.is_final)
    misuse("cuDNN: what is executed is no plan, or has no pack");
  const Object& config = plan.object(kPlanEngineConfig);
  const Object& graph = graph_of(config);
  if (is_attention(graph)) return attend(*static_cast<Handle*>(handle), config, pack);
  if (config.engine == kCompiling) return kNotSupported;  // Tern has the choice of others
  ConvolutionCall call = *stand_in::read(graph);
  const Object& forward = graph.object(kGraphOperations, 0);
  call.x.address = address_of(pack, forward.object(kForwardX));
  call.w.address = address_of(pack, forward.object(kForwardW));
  if (call.bias != 0) call.bias = address_of(pack, graph.object(kGraphOperations, 1).object(kPointwiseB));
  const Object& last = *graph.values.at(kGraphOperations).objects.back();
  call.y.address = address_of(pack, last.object(&last == &forward ? kForwardY : kPointwiseY));
  call.workspace = workspace_of(pack);
  call.workspace_bytes = kWorkspace;
  call.rounds = call.dtype == DType::f32 && config.engine == kRounds;
  const Handle& h = *static_cast<Handle*>(handle);
  return launch(h.convolution, &call, h.stream) == kSuccess ? kSuccess : kBadParameter;
}
