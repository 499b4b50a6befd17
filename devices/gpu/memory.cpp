#include "devices/gpu/memory.h"

#include "devices/gpu/devices.h"
#include "devices/gpu/handles.h"
#include "devices/gpu/libraries/symmetric.h"
#include "devices/gpu/library.h"
#include "devices/gpu/profiler.h"
#include "devices/gpu/status.h"

namespace tern::gpu {

tern_device_status allocate(std::int32_t device, std::uint64_t bytes, tern_device_address* address) {
  TERN_GPU_ENTER(device);
  return checked(api().allocate(address, bytes), "allocating memory");
}

tern_device_status release(std::int32_t device, tern_device_address address) {
  TERN_GPU_ENTER(device);
  return checked(api().free(address), "freeing memory");
}

tern_device_status copy_to_device(std::int32_t device, tern_device_stream stream, tern_device_address to,
                                  const void* from, std::uint64_t bytes) {
  TERN_GPU_ENTER(device);
  const TimedWork timed(*stream);
  return checked(api().copy_to_device(to, from, bytes, stream->current()), "copying to the device");
}

tern_device_status copy_to_host(std::int32_t device, tern_device_stream stream, void* to, tern_device_address from,
                                std::uint64_t bytes) {
  TERN_GPU_ENTER(device);
  if (!stream->recording) TERN_GPU_TRY(wait_before(stream->stream));
  const TimedWork timed(*stream);
  return checked(api().copy_to_host(to, from, bytes, stream->current()), "copying to the host");
}

tern_device_status copy_within(std::int32_t device, tern_device_stream stream, tern_device_address to,
                               tern_device_address from, std::uint64_t bytes) {
  TERN_GPU_ENTER(device);
  const TimedWork timed(*stream);
  return checked(api().copy_within(to, from, bytes, stream->current()), "copying within the device");
}

}  // namespace tern::gpu
