// Functions of HIP for nodes added during a capture.
#pragma once

#include "devices/gpu/api.h"

namespace tern::gpu {

constexpr unsigned kReplaceDependencies = 1;  // hipStreamSetCaptureDependencies

// X(name, symbol, (parameters))
#define TERN_GPU_CAPTURE(X)                                                                                     \
  X(capture_info, hipStreamGetCaptureInfo_v2,                                                                   \
    (Stream stream, int* status, std::uint64_t* id, Graph* graph, const GraphNode** nodes, std::size_t* count)) \
  X(replace_dependencies, hipStreamUpdateCaptureDependencies,                                                   \
    (Stream stream, GraphNode * nodes, std::size_t count, unsigned flags))

struct CaptureApi {
#define TERN_GPU_MEMBER(name, symbol, parameters) Status(*name) parameters = nullptr;
  TERN_GPU_CAPTURE(TERN_GPU_MEMBER)
#undef TERN_GPU_MEMBER
  bool complete = true;
};

}  // namespace tern::gpu
