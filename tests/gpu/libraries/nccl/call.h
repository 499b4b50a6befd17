// Kernel parameters of the stand-ins for NCCL and RCCL: work that runs in stream order.
#pragma once

namespace tern::stand_in {

struct CollectiveCall {
  void (*function)(void* context);
  void* context;
};

constexpr const char* kCollectiveKernel = "stand_in_collective";

}  // namespace tern::stand_in
