#include "devices/gpu/streams.h"

#include "devices/gpu/devices.h"
#include "devices/gpu/handles.h"
#include "devices/gpu/libraries/communication.h"
#include "devices/gpu/libraries/solver.h"
#include "devices/gpu/libraries/symmetric.h"
#include "devices/gpu/library.h"
#include "devices/gpu/profiler.h"
#include "devices/gpu/share.h"
#include "devices/gpu/status.h"
#include "devices/gpu/tables.h"

namespace tern::gpu {
tern_device_status stream_create(std::int32_t device, tern_device_stream* stream) {
  TERN_GPU_ENTER(device);
  Stream made = nullptr;
  TERN_GPU_TRY(checked(api().stream_create(&made, kNonBlocking), "making a stream"));
  *stream = new tern_device_stream_s{made, false, {}, nullptr, nullptr};
  return TERN_DEVICE_OK;
}

tern_device_status stream_destroy(std::int32_t device, tern_device_stream stream) {
  const DeviceScope scope(device);
  const GpuDevice* const d = scope.device();
  if (d == nullptr) {
    delete stream;
    return scope.status();
  }
  // Waits first: the driver's function does not.
  const tern_device_status status = wait_for_stream(stream->stream);
  if (is_lost()) {
    delete stream;
    return status;
  }
  std::string why = status == TERN_DEVICE_OK ? "" : message();
  // Library handles refer to the stream, and a new stream may reuse its address.
  const tern_device_status released = release_solvers(*d, stream->stream);
  if (status == TERN_DEVICE_OK && released != TERN_DEVICE_OK) why = message();
  const tern_device_status destroyed = checked(api().stream_destroy(stream->stream), "destroying the stream");
  delete stream;  // releases the device share, unused from now on
  for (const tern_device_status first : {status, released})
    if (first != TERN_DEVICE_OK) return failed(first, why);
  return destroyed;
}

tern_device_status stream_synchronize(std::int32_t device, tern_device_stream stream) {
  TERN_GPU_ENTER(device);
  TERN_GPU_TRY(wait_for_stream(stream->stream));
  // Aborted calls end like successful calls, but without results.
  for (const auto& c : stream->communications) {
    if (const std::string why = c->failure(); !why.empty()) return failed(TERN_DEVICE_FAILED, why);
  }
  return TERN_DEVICE_OK;
}

tern_device_status event_create(std::int32_t device, tern_device_event* event) {
  TERN_GPU_ENTER(device);
  Event made = nullptr;
  TERN_GPU_TRY(checked(api().event_create(&made, 0), "making an event"));
  *event = new tern_device_event_s{made};
  return TERN_DEVICE_OK;
}

tern_device_status event_destroy(std::int32_t device, tern_device_event event) {
  const DeviceScope scope(device);
  const Status error = scope.device() == nullptr ? kSuccess : api().event_destroy(event->event);
  delete event;
  return scope.device() == nullptr ? scope.status() : checked(error, "destroying an event");
}

tern_device_status event_record(std::int32_t device, tern_device_event event, tern_device_stream stream) {
  TERN_GPU_ENTER(device);
  return checked(api().event_record(event->event, stream->stream), "recording an event");
}

tern_device_status event_synchronize(std::int32_t device, tern_device_event event) {
  TERN_GPU_ENTER(device);
  return wait_for(event->event, "waiting for an event");
}

tern_device_status stream_wait(std::int32_t device, tern_device_stream stream, tern_device_event event) {
  TERN_GPU_ENTER(device);
  return checked(api().stream_wait(stream->stream, event->event, 0), "making a stream wait");
}

namespace {

tern_device_status query(std::int32_t device, tern_device_event event, std::int32_t* happened) {
  TERN_GPU_ENTER(device);
  const Status error = api().event_query(event->event);
  *happened = error == kSuccess ? 1 : 0;
  return error == names::kNotReady ? TERN_DEVICE_OK : checked(error, "asking for an event");
}

tern_device_status elapsed(std::int32_t device, tern_device_event from, tern_device_event to, double* seconds) {
  TERN_GPU_ENTER(device);
  float milliseconds = 0;
  TERN_GPU_TRY(checked(api().event_elapsed(&milliseconds, from->event, to->event), "the time between two events"));
  *seconds = static_cast<double>(milliseconds) * 1e-3;
  return TERN_DEVICE_OK;
}

// The drivers' functions take calls of several threads with one stream.
constexpr tern_device_event_functions kEvents = {sizeof kEvents, TERN_DEVICE_EVENTS_ANY_THREAD, query, elapsed};

}  // namespace

const tern_device_event_functions* event_functions() {
  return &kEvents;
}

}  // namespace tern::gpu
