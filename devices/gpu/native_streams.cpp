// "native_stream": interoperation with the vendor's streams.
#include "devices/gpu/devices.h"
#include "devices/gpu/handles.h"
#include "devices/gpu/library.h"
#include "devices/gpu/status.h"
#include "devices/gpu/tables.h"

namespace tern::gpu {
namespace {

constexpr unsigned kNoTiming = 2;  // CU_EVENT_DISABLE_TIMING, hipEventDisableTiming

tern_device_status handle(std::int32_t device, tern_device_stream stream, void** native) {
  *native = stream->stream;
  return TERN_DEVICE_OK;
}

tern_device_status wait(std::int32_t device, tern_device_stream stream, void* native) {
  TERN_GPU_ENTER(device);
  if (stream->recording) return failed(TERN_DEVICE_INVALID, "a graph that is recorded cannot wait for another stream");
  Event event = nullptr;
  TERN_GPU_TRY(checked(api().event_create(&event, kNoTiming), "making an event"));
  Status status = api().event_record(event, static_cast<Stream>(native));
  if (status == kSuccess) status = api().stream_wait(stream->stream, event, 0);
  const Status destroyed = api().event_destroy(event);  // the driver frees the event after its occurrence
  TERN_GPU_TRY(checked(status, "waiting for a stream of the application"));
  return checked(destroyed, "destroying an event");
}

tern_device_status is_captured(std::int32_t device, tern_device_stream stream, std::int32_t* captured) {
  TERN_GPU_ENTER(device);
  int state = 0;  // CU_STREAM_CAPTURE_STATUS_NONE, hipStreamCaptureStatusNone
  if (api().is_capturing != nullptr)
    TERN_GPU_TRY(checked(api().is_capturing(stream->stream, &state), "asking for a capture"));
  *captured = state != 0 ? 1 : 0;
  return TERN_DEVICE_OK;
}

constexpr tern_device_native_stream_functions kNative = {sizeof kNative, 0, handle, wait, is_captured};

}  // namespace

const tern_device_native_stream_functions* native_stream_functions() {
  return &kNative;
}

}  // namespace tern::gpu
