#include "devices/metal/copy_kernel.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace tern::metal {
namespace {

constexpr const char* kText = R"(#include <metal_stdlib>
kernel void tern_copy_bytes(device uchar* to [[buffer(0)]], device const uchar* from [[buffer(1)]],
                            uint at [[thread_position_in_grid]]) {
  to[at] = from[at];
}
)";

struct CopyKernel {
  Owned<MTL::Library> library;
  Pipeline pipeline;
};

/// Returns null after a failure.
const Pipeline* kernel_of(const MetalDevice& device, tern_device_status& status) {
  static std::mutex mutex;
  static auto& made = *std::make_unique<std::map<const MetalDevice*, CopyKernel>>().release();
  const std::lock_guard lock(mutex);
  const auto at = made.find(&device);
  if (at != made.end()) return &at->second.pipeline;
  CopyKernel k;
  status = compile(device, kText, k.library);
  if (status == TERN_DEVICE_OK) status = pipeline(device, *k.library, "tern_copy_bytes", k.pipeline);
  return status == TERN_DEVICE_OK ? &made.emplace(&device, std::move(k)).first->second.pipeline : nullptr;
}

}  // namespace

tern_device_status launch_copy(const MetalDevice& device, Commands& commands, const BufferRange& to,
                               const BufferRange& from, std::uint64_t bytes) {
  tern_device_status status = TERN_DEVICE_OK;
  const Pipeline* kernel = kernel_of(device, status);
  if (kernel == nullptr) return status;
  constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 30;
  for (std::uint64_t done = 0; done < bytes && status == TERN_DEVICE_OK; done += kAtOnce) {
    const MetalArgument arguments[] = {{{to.buffer, to.offset + done, to.bytes - done}},
                                       {{from.buffer, from.offset + done, from.bytes - done}}};
    status = commands.launch(*kernel, arguments, std::min(kAtOnce, bytes - done), kernel->usual_threads);
  }
  return status;
}

}  // namespace tern::metal
