// NCCL or RCCL, loaded on first use.
#pragma once

#include <string>

#include "devices/gpu/libraries/nccl_api.h"

namespace tern::gpu {

/// Never unloaded.
struct Nccl {
  NcclApi api;
  std::string version;  ///< "2.28.3"
  std::string why;      ///< reason for being unusable; empty if usable
};
const Nccl& nccl();

/// Returns "NCCL 2.28.3", or the reason for its absence.
std::string describe_collectives();

}  // namespace tern::gpu
