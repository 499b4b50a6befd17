// NVSHMEM's host library, found when the first group asks for it.
#pragma once

#include <string>

#include "devices/gpu/cuda/nvshmem_api.h"

namespace tern::gpu {

/// TERN_CUDA_SHMEM is set, and not to 0.
bool wants_nvshmem();

/// It lives as long as the process.
struct Nvshmem {
  NvshmemApi api;
  std::string version;  ///< "3.8.0"
  std::string why;      ///< it cannot be used; empty if it can
};
const Nvshmem& nvshmem();

}  // namespace tern::gpu
