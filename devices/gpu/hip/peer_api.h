// Functions of HIP for the memory of other GPUs.
#pragma once

#include "devices/gpu/api.h"

namespace tern::gpu {

// X(name, symbol, (parameters))
#define TERN_GPU_PEERS(X)                                                 \
  X(can_access, hipDeviceCanAccessPeer, (int* can, int device, int peer)) \
  X(enable, hipDeviceEnablePeerAccess, (int peer, unsigned flags))        \
  X(copy, hipMemcpyPeerAsync,                                             \
    (Address to, int to_device, Address from, int from_device, std::size_t bytes, Stream stream))

struct PeerApi {
#define TERN_GPU_MEMBER(name, symbol, parameters) Status(*name) parameters = nullptr;
  TERN_GPU_PEERS(TERN_GPU_MEMBER)
#undef TERN_GPU_MEMBER
  bool complete = true;
};

constexpr Status kPeerAlreadyEnabled = 704;  // hipErrorPeerAccessAlreadyEnabled

}  // namespace tern::gpu
