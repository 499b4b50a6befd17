// Declarations of nccl.h used by the plugins; RCCL's are equal. tests/gpu/prototypes compares them with the header, if
// installed.
#pragma once

#include <cstddef>

#include "devices/gpu/api.h"

namespace tern::gpu {

using NcclComm = void*;
struct NcclId {  ///< ncclUniqueId
  char bytes[128];
};
/// ncclConfig_t of 2.14: the library supplies members of later versions.
struct NcclConfig {
  std::size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;  ///< non-blocking calls; nccl_comm_state reports their progress
};

// ncclResult_t
constexpr int kNcclSuccess = 0, kNcclInProgress = 7;
// ncclDataType_t
constexpr int kNcclI8 = 0, kNcclU8 = 1, kNcclI32 = 2, kNcclU32 = 3, kNcclI64 = 4, kNcclU64 = 5, kNcclF16 = 6,
              kNcclF32 = 7, kNcclF64 = 8, kNcclBf16 = 9;
// ncclRedOp_t
constexpr int kNcclSum = 0, kNcclProduct = 1, kNcclMax = 2, kNcclMin = 3, kNcclAvg = 4;

// X(name, symbol, (parameters))
#define TERN_GPU_NCCL_FUNCTIONS(X)                                                                                 \
  X(version, GetVersion, (int* version))                                                                           \
  X(unique_id, GetUniqueId, (NcclId * id))                                                                         \
  X(join, CommInitRankConfig, (NcclComm * comm, int ranks, NcclId id, int rank, NcclConfig* config))               \
  X(finalize, CommFinalize, (NcclComm comm))                                                                       \
  X(destroy, CommDestroy, (NcclComm comm))                                                                         \
  X(abort, CommAbort, (NcclComm comm))                                                                             \
  X(state, CommGetAsyncError, (NcclComm comm, int* state))                                                         \
  X(group_begin, GroupStart, ())                                                                                   \
  X(group_end, GroupEnd, ())                                                                                       \
  X(all_reduce, AllReduce,                                                                                         \
    (const void* in, void* out, std::size_t count, int type, int op, NcclComm comm, Stream stream))                \
  X(all_gather, AllGather, (const void* in, void* out, std::size_t count, int type, NcclComm comm, Stream stream)) \
  X(reduce_scatter, ReduceScatter,                                                                                 \
    (const void* in, void* out, std::size_t count, int type, int op, NcclComm comm, Stream stream))                \
  X(broadcast, Broadcast,                                                                                          \
    (const void* in, void* out, std::size_t count, int type, int root, NcclComm comm, Stream stream))              \
  X(send, Send, (const void* data, std::size_t count, int type, int peer, NcclComm comm, Stream stream))           \
  X(receive, Recv, (void* data, std::size_t count, int type, int peer, NcclComm comm, Stream stream))

struct NcclApi {
#define TERN_GPU_MEMBER(name, symbol, parameters) int(*name) parameters = nullptr;
  TERN_GPU_NCCL_FUNCTIONS(TERN_GPU_MEMBER)
#undef TERN_GPU_MEMBER
  const char* (*text)(int result) = nullptr;
};

}  // namespace tern::gpu
