// NCCL or RCCL, found when the first group asks for it.
#pragma once

#include <string>

#include "devices/gpu/libraries/nccl_api.h"

namespace tern::gpu {

/// It lives as long as the process.
struct Nccl {
  NcclApi api;
  std::string version;  ///< "2.28.3"
  std::string why;      ///< it cannot be used; empty if it can
};
const Nccl& nccl();

/// "NCCL 2.28.3", or why there is none.
std::string describe_collectives();

}  // namespace tern::gpu
