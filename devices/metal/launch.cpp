#include "devices/metal/launch.h"

#include <array>
#include <cstring>
#include <limits>
#include <string>

#include "devices/metal/handles.h"
#include "devices/metal/status.h"

namespace tern::metal {
namespace {

tern_device_status check(const Pipeline& pipeline, const tern_device_launch& l) {
  constexpr std::uint64_t kMaxItems = std::numeric_limits<std::uint32_t>::max();  // kernels use 32-bit indices
  if (l.argument_count > Commands::kMaxArguments)
    return failed(TERN_DEVICE_UNSUPPORTED,
                  "a kernel of Metal has at most 31 arguments, but this one has " + std::to_string(l.argument_count));
  if (l.items > kMaxItems)
    return failed(TERN_DEVICE_UNSUPPORTED,
                  "a launch of Metal has at most 4294967295 items, but this one has " + std::to_string(l.items));
  if (l.group > pipeline.max_threads)
    return failed(TERN_DEVICE_UNSUPPORTED,
                  "this kernel runs in groups of at most " + std::to_string(pipeline.max_threads) +
                      " items on this device, but the launch requests " + std::to_string(l.group));
  return TERN_DEVICE_OK;
}

/// Absent and empty operands use the device's `nothing`.
tern_device_status argument_of(const MetalDevice& device, const tern_device_argument& a, MetalArgument& made) {
  if (a.is_address == 0) {
    made = {{}, a.data, a.size};
    return TERN_DEVICE_OK;
  }
  tern_device_address address = 0;
  std::memcpy(&address, a.data, sizeof address);
  made.range = range_of(address);
  if (made.range.buffer == nullptr && address != 0)
    return failed(TERN_DEVICE_INVALID, "address " + std::to_string(address) + " lies in no allocation");
  if (made.range.bytes == 0) made.range = {device.nothing->get(), 0, 0};
  return TERN_DEVICE_OK;
}

}  // namespace

tern_device_status launch(std::int32_t device, tern_device_stream stream, tern_device_kernel kernel,
                          const tern_device_launch* l) {
  const Pool pool;
  const MetalDevice* d = find(device);
  if (d == nullptr) return TERN_DEVICE_INVALID;
  const Pipeline& pipeline = kernel->pipeline;
  tern_device_status status = check(pipeline, *l);
  std::array<MetalArgument, Commands::kMaxArguments> arguments;
  for (std::uint32_t i = 0; i < l->argument_count && status == TERN_DEVICE_OK; ++i)
    status = argument_of(*d, l->arguments[i], arguments[i]);
  if (status != TERN_DEVICE_OK) return status;
  return stream->stream->launch(pipeline, {arguments.data(), l->argument_count}, l->items,
                                l->group != 0 ? l->group : pipeline.usual_threads);
}

}  // namespace tern::metal
