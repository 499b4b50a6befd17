// No symmetric memory: rocSHMEM is a static library, linked by hipcc into a program's own kernels. RCCL makes all
// calls.
#include "devices/gpu/libraries/symmetric.h"

#include "devices/gpu/library.h"
#include "devices/gpu/status.h"

namespace tern::gpu {

std::string describe_symmetric() {
  return {};
}

tern_device_status join_symmetric(Communication&) {
  return TERN_DEVICE_OK;
}

void leave_symmetric(Communication&) {}

bool takes_symmetric(const Communication&, const tern_device_collective&, std::size_t) {
  return false;
}

tern_device_status run_symmetric(const tern_device_collective&, std::size_t, Stream) {
  return TERN_DEVICE_UNSUPPORTED;
}

void abandon_symmetric(const Communication&, const std::string&) {}

tern_device_status wait_for(Event event, const char* call) {
  return checked(api().event_synchronize(event), call);
}

tern_device_status wait_for_stream(Stream stream) {
  return checked(api().stream_synchronize(stream), "waiting for the stream");
}

tern_device_status wait_before(Stream) {
  return TERN_DEVICE_OK;
}

bool is_lost() {
  return false;
}

tern_device_status lost() {
  return TERN_DEVICE_OK;
}

}  // namespace tern::gpu
