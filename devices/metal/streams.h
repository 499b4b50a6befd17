// Streams, their copies, and events.
#pragma once

#include <tern/device.h>

#include <cstdint>

namespace tern::metal {

tern_device_status stream_create(std::int32_t device, tern_device_stream* stream);
tern_device_status stream_destroy(std::int32_t device, tern_device_stream stream);
tern_device_status stream_synchronize(std::int32_t device, tern_device_stream stream);

tern_device_status copy_to_device(std::int32_t device, tern_device_stream stream, tern_device_address to,
                                  const void* from, std::uint64_t bytes);
tern_device_status copy_to_host(std::int32_t device, tern_device_stream stream, void* to, tern_device_address from,
                                std::uint64_t bytes);
tern_device_status copy_within(std::int32_t device, tern_device_stream stream, tern_device_address to,
                               tern_device_address from, std::uint64_t bytes);

tern_device_status event_create(std::int32_t device, tern_device_event* event);
tern_device_status event_destroy(std::int32_t device, tern_device_event event);
tern_device_status event_record(std::int32_t device, tern_device_event event, tern_device_stream stream);
tern_device_status event_synchronize(std::int32_t device, tern_device_event event);
tern_device_status stream_wait(std::int32_t device, tern_device_stream stream, tern_device_event event);

/// The table "events".
const tern_device_event_functions* event_functions();

}  // namespace tern::metal
