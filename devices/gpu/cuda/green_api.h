// Functions of cuda.h for green contexts (shares of a device): CUDA 12.4 or later, streams 12.5, work queues 13.1.
#pragma once

#include "devices/gpu/api.h"

namespace tern::gpu {

enum class ResourceType : int { none = 0, multiprocessors = 1, queues = 1000 };  // CUdevResourceType

/// CUdevResource. The driver stores data in `reserved`, so only copies of the driver's answers are valid.
struct Resource {
  ResourceType type = ResourceType::none;
  unsigned char reserved[92] = {};
  union {
    struct {
      unsigned count;
    } multiprocessors;  // CUdevSmResource
    struct {
      int device;
      unsigned limit;
      int scope;
    } queues;  // CUdevWorkqueueConfigResource
    unsigned char padding[40] = {};
  };
  void* next = nullptr;
};
static_assert(sizeof(Resource) == 144);

constexpr int kBalancedQueues = 1;  // CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED: separate from other contexts' queues
constexpr unsigned kGreenDefaultStream = 1;  // CU_GREEN_CTX_DEFAULT_STREAM: required before CUDA 13

using GreenContext = void*;
using ResourceDescriptor = void*;

// X(name, symbol, (parameters))
#define TERN_GPU_GREEN(X)                                                                                              \
  X(resource, cuDeviceGetDevResource, (int device, Resource* resource, ResourceType type))                             \
  X(split, cuDevSmResourceSplitByCount,                                                                                \
    (Resource * result, unsigned* groups, const Resource* input, Resource* remainder, unsigned flags, unsigned least)) \
  X(describe, cuDevResourceGenerateDesc, (ResourceDescriptor * result, Resource * resources, unsigned count))          \
  X(create, cuGreenCtxCreate, (GreenContext * context, ResourceDescriptor descriptor, int device, unsigned flags))     \
  X(destroy, cuGreenCtxDestroy, (GreenContext context))                                                                \
  X(as_context, cuCtxFromGreenCtx, (Context * context, GreenContext green))                                            \
  X(stream_create, cuGreenCtxStreamCreate, (Stream * stream, GreenContext context, unsigned flags, int priority))

struct GreenApi {
#define TERN_GPU_MEMBER(name, symbol, parameters) Status(*name) parameters = nullptr;
  TERN_GPU_GREEN(TERN_GPU_MEMBER)
#undef TERN_GPU_MEMBER
  bool complete = true;
};

}  // namespace tern::gpu
