// Declarations of NVSHMEM's host library (version 3) used by the plugin; tests/gpu/prototypes compares them with the
// headers, if installed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/gpu/api.h"

namespace tern::gpu {

/// Version in the first bytes of a struct: version number and struct size.
template <class T>
constexpr int nvshmem_struct_version = (1 << 16) + static_cast<int>(sizeof(T));

struct NvshmemId {  ///< nvshmemx_uniqueid_t
  int version = (1 << 16) + 128;
  char bytes[124] = {};
};
struct NvshmemIdArguments {  ///< nvshmemx_uniqueid_args_t
  int version = nvshmem_struct_version<NvshmemIdArguments>;
  const NvshmemId* id = nullptr;
  int rank = -1, ranks = -1;
};
struct NvshmemArguments {  ///< nvshmemx_init_args_v1
  int version = (1 << 16) + 128;
  NvshmemIdArguments id;
  char reserved[96] = {};
};
struct NvshmemAttributes {  ///< nvshmemx_init_attr_v1
  int version = (1 << 16) + 144;
  void* mpi = nullptr;
  NvshmemArguments arguments;
};
static_assert(sizeof(NvshmemId) == 128 && sizeof(NvshmemArguments) == 128 && sizeof(NvshmemAttributes) == 144);

constexpr unsigned kNvshmemById = 1 << 3;  // NVSHMEMX_INIT_WITH_UNIQUEID
constexpr std::int32_t kNvshmemWorld = 0;  // NVSHMEM_TEAM_WORLD

// X(name, symbol, result, (parameters))
#define TERN_GPU_NVSHMEM_FUNCTIONS(X)                                                       \
  X(version, nvshmemx_vendor_get_version_info, void, (int* major, int* minor, int* patch))  \
  X(unique_id, nvshmemx_get_uniqueid, int, (NvshmemId * id))                                \
  X(set_id, nvshmemx_set_attr_uniqueid_args, int,                                           \
    (int rank, int ranks, const NvshmemId* id, NvshmemAttributes* attributes))              \
  X(init, nvshmemx_hostlib_init_attr, int, (unsigned flags, NvshmemAttributes* attributes)) \
  X(allocate, nvshmem_malloc, void*, (std::size_t bytes))                                   \
  X(gather, nvshmemx_fcollectmem_on_stream, int,                                            \
    (std::int32_t team, void* out, const void* in, std::size_t bytes, Stream stream))

// X(type, tern/dtype.h's number): nvshmemx_TYPE_sum_reduce_on_stream
#define TERN_GPU_NVSHMEM_SUMS(X) \
  X(uint8, 2)                    \
  X(int8, 3)                     \
  X(int32, 5)                    \
  X(int64, 6)                    \
  X(uint32, 8)                   \
  X(uint64, 9)                   \
  X(half, 10)                    \
  X(bfloat16, 11)                \
  X(float, 12)                   \
  X(double, 13)

using NvshmemSum = int (*)(std::int32_t team, void* out, const void* in, std::size_t count, Stream stream);
constexpr std::size_t kNvshmemTypes = 14;

struct NvshmemApi {
#define TERN_GPU_MEMBER(name, symbol, result, parameters) result(*name) parameters = nullptr;
  TERN_GPU_NVSHMEM_FUNCTIONS(TERN_GPU_MEMBER)
#undef TERN_GPU_MEMBER
  NvshmemSum sums[kNvshmemTypes] = {};  ///< indexed by tern/dtype.h's number; null: none
};

}  // namespace tern::gpu
