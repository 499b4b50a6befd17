// NVSHMEM's host library, loaded on first use.
#pragma once

#include <string>

#include "devices/gpu/cuda/nvshmem_api.h"

namespace tern::gpu {

/// True if TERN_CUDA_SHMEM is set to a value other than 0.
bool wants_nvshmem();

/// Never unloaded.
struct Nvshmem {
  NvshmemApi api;
  std::string version;  ///< "3.8.0"
  std::string why;      ///< reason for being unusable; empty if usable
};
const Nvshmem& nvshmem();

}  // namespace tern::gpu
