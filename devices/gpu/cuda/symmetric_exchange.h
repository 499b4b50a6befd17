// Data exchanged over NCCL by the ranks of a group before using NVSHMEM.
#pragma once

#include <cstdint>
#include <vector>

#include "devices/gpu/cuda/nvshmem_api.h"
#include "devices/gpu/libraries/communication.h"

namespace tern::gpu {

enum class Ability : std::int32_t { none, fresh, joined };

struct SymmetricRecord {
  Ability ability = Ability::none;
  std::int32_t rank = 0, ranks = 0, reserved = 0;  ///< position in the joined world
  NvshmemId id;                                    ///< id of the joined world; on rank 0: of the world to join
};

/// Gathers the records of all ranks in rank order. Fails the group if a rank is missing for a minute.
tern_device_status exchange(Communication& c, const SymmetricRecord& mine, std::vector<SymmetricRecord>* all);

}  // namespace tern::gpu
