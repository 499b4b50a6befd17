// Functions of cuda.h for the memory of other GPUs.
#pragma once

#include "devices/gpu/api.h"

namespace tern::gpu {

// X(name, symbol, (parameters))
#define TERN_GPU_PEERS(X)                                                \
  X(can_access, cuDeviceCanAccessPeer, (int* can, int device, int peer)) \
  X(enable, cuCtxEnablePeerAccess, (Context peer, unsigned flags))       \
  X(copy, cuMemcpyPeerAsync,                                             \
    (Address to, Context to_context, Address from, Context from_context, std::size_t bytes, Stream stream))

struct PeerApi {
#define TERN_GPU_MEMBER(name, symbol, parameters) Status(*name) parameters = nullptr;
  TERN_GPU_PEERS(TERN_GPU_MEMBER)
#undef TERN_GPU_MEMBER
  bool complete = true;
};

constexpr Status kPeerAlreadyEnabled = 704;  // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED

}  // namespace tern::gpu
