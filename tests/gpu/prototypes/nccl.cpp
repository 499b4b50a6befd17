// Compiles if the declarations of collectives in devices/gpu equal nccl.h's.
#include <nccl.h>

#include "devices/gpu/libraries/nccl_api.h"

namespace tern::testing {

/// Like same_call.h, except for the group's number, a struct.
static_assert(sizeof(gpu::NcclId) == sizeof(ncclUniqueId));
static_assert(offsetof(gpu::NcclConfig, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(gpu::NcclConfig, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(gpu::NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));
constexpr ncclConfig_t kInitial = NCCL_CONFIG_INITIALIZER;
static_assert(gpu::NcclConfig{}.magic == kInitial.magic);
static_assert(gpu::kNcclSuccess == ncclSuccess && gpu::kNcclInProgress == ncclInProgress);
static_assert(gpu::kNcclI8 == ncclInt8 && gpu::kNcclU8 == ncclUint8 && gpu::kNcclI32 == ncclInt32);
static_assert(gpu::kNcclU32 == ncclUint32 && gpu::kNcclI64 == ncclInt64 && gpu::kNcclU64 == ncclUint64);
static_assert(gpu::kNcclF16 == ncclFloat16 && gpu::kNcclF32 == ncclFloat32 && gpu::kNcclF64 == ncclFloat64);
static_assert(gpu::kNcclBf16 == ncclBfloat16);
static_assert(gpu::kNcclSum == ncclSum && gpu::kNcclProduct == ncclProd && gpu::kNcclMax == ncclMax);
static_assert(gpu::kNcclMin == ncclMin && gpu::kNcclAvg == ncclAvg);

template <class F>
struct Count;
template <class R, class... A>
struct Count<R (*)(A...)> {
  static constexpr std::size_t bytes = (sizeof(A) + ... + 0), parameters = sizeof...(A);
};
#define SAME_CALL(name, symbol, parameters_)                                                                       \
  static_assert(Count<decltype(gpu::NcclApi::name)>::parameters == Count<decltype(&::nccl##symbol)>::parameters && \
                    Count<decltype(gpu::NcclApi::name)>::bytes == Count<decltype(&::nccl##symbol)>::bytes,         \
                "the parameters of " #symbol);
TERN_GPU_NCCL_FUNCTIONS(SAME_CALL)
#undef SAME_CALL

}  // namespace tern::testing
