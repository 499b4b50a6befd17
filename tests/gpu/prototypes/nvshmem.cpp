// Compiles if the declarations of NVSHMEM in devices/gpu equal its headers.
#include <cuda_runtime.h>
#include <nvshmem_host.h>

#include "devices/gpu/cuda/nvshmem_api.h"
#include "tests/gpu/prototypes/same_call.h"

namespace tern::testing {

static_assert(sizeof(gpu::NvshmemId) == sizeof(nvshmemx_uniqueid_v1));
static_assert(sizeof(gpu::NvshmemIdArguments) == sizeof(nvshmemx_uniqueid_args_v1));
static_assert(offsetof(gpu::NvshmemIdArguments, id) == offsetof(nvshmemx_uniqueid_args_v1, id));
static_assert(offsetof(gpu::NvshmemIdArguments, rank) == offsetof(nvshmemx_uniqueid_args_v1, myrank));
static_assert(offsetof(gpu::NvshmemIdArguments, ranks) == offsetof(nvshmemx_uniqueid_args_v1, nranks));
static_assert(offsetof(gpu::NvshmemArguments, id) == offsetof(nvshmemx_init_args_v1, uid_args));
static_assert(offsetof(gpu::NvshmemAttributes, mpi) == offsetof(nvshmemx_init_attr_v1, mpi_comm));
static_assert(offsetof(gpu::NvshmemAttributes, arguments) == offsetof(nvshmemx_init_attr_v1, args));
constexpr nvshmemx_uniqueid_v1 kId = NVSHMEMX_UNIQUEID_INITIALIZER;
static_assert(gpu::NvshmemId{}.version == kId.version);
static_assert(gpu::NvshmemIdArguments{}.version == (1 << 16) + sizeof(nvshmemx_uniqueid_args_v1));
static_assert(gpu::NvshmemArguments{}.version == (1 << 16) + sizeof(nvshmemx_init_args_v1));
static_assert(gpu::NvshmemAttributes{}.version == (1 << 16) + sizeof(nvshmemx_init_attr_v1));
static_assert(gpu::kNvshmemById == NVSHMEMX_INIT_WITH_UNIQUEID && gpu::kNvshmemWorld == NVSHMEM_TEAM_WORLD);

/// Like same_call, but also allows void results.
template <class Ours, class Theirs>
constexpr bool same = same_call<Ours, Theirs>;
template <class... A>
constexpr bool same<void (*)(A...), void (*)(A...)> = true;

#define SAME_CALL(name, symbol, result, parameters_) \
  static_assert(same<decltype(gpu::NvshmemApi::name), decltype(&::symbol)>, #symbol);
TERN_GPU_NVSHMEM_FUNCTIONS(SAME_CALL)
#undef SAME_CALL
#define SAME_CALL(type, dtype) \
  static_assert(same<gpu::NvshmemSum, decltype(&::nvshmemx_##type##_sum_reduce_on_stream)>, #type);
TERN_GPU_NVSHMEM_SUMS(SAME_CALL)
#undef SAME_CALL

}  // namespace tern::testing
