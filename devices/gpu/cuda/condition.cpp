#include "devices/gpu/cuda/condition.h"

#include <map>
#include <mutex>

#include "devices/gpu/library.h"
#include "devices/gpu/status.h"

namespace tern::gpu {
namespace {

// PTX needs no compiler: the driver translates PTX and knows cudaGraphSetConditional (cuda_device_runtime_api.h).
constexpr const char* kConditionText = R"(.version 8.3
.target sm_60
.address_size 64

.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);

.visible .entry tern_set_condition(
  .param .u64 predicate,
  .param .u64 condition,
  .param .u64 opposite
)
{
  .reg .pred %p<4>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<5>;

  ld.param.u64 %rd1, [predicate];
  ld.param.u64 %rd2, [condition];
  ld.param.u64 %rd3, [opposite];
  cvta.to.global.u64 %rd4, %rd1;
  ld.global.u8 %r1, [%rd4];
  setp.ne.u32 %p1, %r1, 0;
  selp.b32 %r2, 1, 0, %p1;
  selp.b32 %r3, 0, 1, %p1;
  {
    .param .b64 handle;
    .param .b32 value;
    st.param.b64 [handle], %rd2;
    st.param.b32 [value], %r2;
    call.uni cudaGraphSetConditional, (handle, value);
  }
  setp.eq.u64 %p2, %rd3, 0;
  @%p2 bra DONE;
  {
    .param .b64 handle;
    .param .b32 value;
    st.param.b64 [handle], %rd3;
    st.param.b32 [value], %r3;
    call.uni cudaGraphSetConditional, (handle, value);
  }
DONE:
  ret;
}
)";

std::mutex mutex;
std::map<int, Function>& kernels() {
  static std::map<int, Function> all;
  return all;
}

}  // namespace

tern_device_status load_condition_kernel(const GpuDevice& d) {
  const std::lock_guard lock(mutex);
  if (kernels().contains(d.id)) return TERN_DEVICE_OK;
  Module module = nullptr;
  Function function = nullptr;
  TERN_GPU_TRY(
      checked(api().module_load(&module, kConditionText, 0, nullptr, nullptr), "loading the kernel of conditions"));
  if (const Status error = api().module_function(&function, module, "tern_set_condition"); error != kSuccess) {
    api().module_unload(module);
    return checked(error, "finding the kernel of conditions");
  }
  kernels()[d.id] = function;  // never unloaded
  return TERN_DEVICE_OK;
}

tern_device_status set_condition(const GpuDevice& d, Stream stream, Address predicate, std::uint64_t condition,
                                 std::uint64_t opposite) {
  Function function = nullptr;
  {
    const std::lock_guard lock(mutex);
    function = kernels()[d.id];
  }
  void* parameters[] = {&predicate, &condition, &opposite};
  return checked(api().launch(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr), "setting a condition");
}

}  // namespace tern::gpu
