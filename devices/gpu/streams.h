// Streams and events.
#pragma once

#include <tern/device.h>

#include <cstdint>

namespace tern::gpu {

tern_device_status stream_create(std::int32_t device, tern_device_stream* stream);
tern_device_status stream_destroy(std::int32_t device, tern_device_stream stream);
tern_device_status stream_synchronize(std::int32_t device, tern_device_stream stream);

tern_device_status event_create(std::int32_t device, tern_device_event* event);
tern_device_status event_destroy(std::int32_t device, tern_device_event event);
tern_device_status event_record(std::int32_t device, tern_device_event event, tern_device_stream stream);
tern_device_status event_synchronize(std::int32_t device, tern_device_event event);
tern_device_status stream_wait(std::int32_t device, tern_device_stream stream, tern_device_event event);

}  // namespace tern::gpu
