// What the stand-ins for NCCL and RCCL give to their kernel: what the stream does when it comes there.
#pragma once

namespace tern::stand_in {

struct CollectiveCall {
  void (*work)(void* context);
  void* context;
};

constexpr const char* kCollectiveKernel = "stand_in_collective";

}  // namespace tern::stand_in
