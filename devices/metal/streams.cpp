#include "devices/metal/streams.h"

#include <utility>

#include "devices/metal/handles.h"
#include "devices/metal/metal4.h"
#include "devices/metal/status.h"

namespace tern::metal {

tern_device_status stream_create(std::int32_t device, tern_device_stream* stream) {
  const Pool pool;
  const MetalDevice* d = find(device);
  if (d == nullptr) return TERN_DEVICE_INVALID;
  std::unique_ptr<Commands> commands = d->metal4 ? metal4_commands(*d) : metal3_commands(*d);
  if (!commands) return TERN_DEVICE_FAILED;
  auto made = std::make_unique<tern_device_stream_s>();
  made->stream = std::make_shared<MetalStream>(*d, std::move(commands));
  *stream = made.release();
  return TERN_DEVICE_OK;
}

tern_device_status stream_destroy(std::int32_t, tern_device_stream stream) {
  const Pool pool;
  const std::unique_ptr<tern_device_stream_s> ends(stream);
  return stream->stream->synchronize();
}

tern_device_status stream_synchronize(std::int32_t, tern_device_stream stream) {
  const Pool pool;
  return stream->stream->synchronize();
}

tern_device_status copy_to_device(std::int32_t, tern_device_stream stream, tern_device_address to, const void* from,
                                  std::uint64_t bytes) {
  const Pool pool;
  BufferRange range;
  if (bytes == 0) return TERN_DEVICE_OK;
  const tern_device_status status = checked_range(to, bytes, range);
  return status == TERN_DEVICE_OK ? stream->stream->upload(range, from, bytes) : status;
}

tern_device_status copy_to_host(std::int32_t, tern_device_stream stream, void* to, tern_device_address from,
                                std::uint64_t bytes) {
  const Pool pool;
  BufferRange range;
  if (bytes == 0) return TERN_DEVICE_OK;
  const tern_device_status status = checked_range(from, bytes, range);
  return status == TERN_DEVICE_OK ? stream->stream->download(to, range, bytes) : status;
}

tern_device_status copy_within(std::int32_t, tern_device_stream stream, tern_device_address to,
                               tern_device_address from, std::uint64_t bytes) {
  const Pool pool;
  BufferRange target, source;
  if (bytes == 0) return TERN_DEVICE_OK;
  tern_device_status status = checked_range(to, bytes, target);
  if (status == TERN_DEVICE_OK) status = checked_range(from, bytes, source);
  return status == TERN_DEVICE_OK ? stream->stream->copy(target, source, bytes) : status;
}

}  // namespace tern::metal
