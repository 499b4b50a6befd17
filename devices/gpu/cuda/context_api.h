// Functions of cuda.h for contexts: a device's primary context, and the stack of contexts of a thread.
#pragma once

#include "devices/gpu/api.h"

namespace tern::gpu {

// X(name, symbol, (parameters))
#define TERN_GPU_CONTEXT(X)                                            \
  X(retain, cuDevicePrimaryCtxRetain, (Context * context, int device)) \
  X(current, cuCtxGetCurrent, (Context * context))                     \
  X(push, cuCtxPushCurrent_v2, (Context context))                      \
  X(pop, cuCtxPopCurrent_v2, (Context * context))

struct ContextApi {
#define TERN_GPU_MEMBER(name, symbol, parameters) Status(*name) parameters = nullptr;
  TERN_GPU_CONTEXT(TERN_GPU_MEMBER)
#undef TERN_GPU_MEMBER
  bool complete = true;
};

}  // namespace tern::gpu
