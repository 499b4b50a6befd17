// What the ranks of a group tell each other before they use NVSHMEM, over NCCL.
#pragma once

#include <cstdint>
#include <vector>

#include "devices/gpu/cuda/nvshmem_api.h"
#include "devices/gpu/libraries/communication.h"

namespace tern::gpu {

enum class Ability : std::int32_t { none, fresh, joined };

struct SymmetricRecord {
  Ability ability = Ability::none;
  std::int32_t rank = 0, ranks = 0, reserved = 0;  ///< where it has joined
  NvshmemId id;                                    ///< of the group that it has joined; rank 0's: of the one to join
};

/// Those of all ranks, in their order. If some rank does not come within a minute the group has failed.
tern_device_status exchange(Communication& c, const SymmetricRecord& mine, std::vector<SymmetricRecord>* all);

}  // namespace tern::gpu
