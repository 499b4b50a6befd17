#include "devices/metal/stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "devices/metal/copy_kernel.h"
#include "devices/metal/status.h"

namespace tern::metal {
namespace {

/// The GPU starts while the host encodes more.
constexpr std::uint64_t kCommandsAtOnce = 64;

}  // namespace

tern_device_status MetalStream::launch(const Pipeline& pipeline, std::span<const MetalArgument> arguments,
                                       std::uint64_t items, std::uint64_t group) {
  const std::lock_guard lock(mutex_);
  const tern_device_status status = commands_->launch(pipeline, arguments, items, group);
  if (status == TERN_DEVICE_OK) encoded();
  return status;
}

tern_device_status MetalStream::upload(const BufferRange& to, const void* from, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (idle()) {  // copies directly: host and GPU share memory
    std::memcpy(to.host(), from, bytes);
    return TERN_DEVICE_OK;
  }
  const auto staged = staging(from, bytes);
  if (!staged) return failed(TERN_DEVICE_OUT_OF_MEMORY, "Metal has no buffer for a copy to the device");
  commands_->retain_buffer(staged);
  return copy_bytes(to, {staged->get(), 0, bytes}, bytes);
}

tern_device_status MetalStream::download(void* to, const BufferRange& from, std::uint64_t bytes) {
  BufferRange source = from;
  std::shared_ptr<DeviceBuffer> staged;
  {
    const std::lock_guard lock(mutex_);
    if (profile) {  // a copy by the GPU, to be timed
      staged = staging(nullptr, bytes);
      if (!staged) return failed(TERN_DEVICE_OUT_OF_MEMORY, "Metal has no buffer for a copy to the host");
      source = {staged->get(), 0, bytes};
      const tern_device_status status = copy_bytes(source, from, bytes);
      if (status != TERN_DEVICE_OK) return status;
    }
  }
  const tern_device_status status = synchronize();
  if (status == TERN_DEVICE_OK) std::memcpy(to, source.host(), bytes);
  return status;
}

tern_device_status MetalStream::copy(const BufferRange& to, const BufferRange& from, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return copy_bytes(to, from, bytes);
}

tern_device_status MetalStream::copy_bytes(const BufferRange& to, const BufferRange& from, std::uint64_t bytes) {
  if ((to.offset | from.offset | bytes) % Commands::kCopyStep == 0) {
    commands_->copy(to, from, bytes);
  } else {
    const tern_device_status status = launch_copy(device_, *commands_, to, from, bytes);
    if (status != TERN_DEVICE_OK) return status;
  }
  encoded();
  return TERN_DEVICE_OK;
}

/// Rounds sizes up to whole steps, so that only the other side may require the copy kernel.
std::shared_ptr<DeviceBuffer> MetalStream::staging(const void* from, std::uint64_t bytes) {
  const std::uint64_t whole = (bytes + Commands::kCopyStep - 1) / Commands::kCopyStep * Commands::kCopyStep;
  std::shared_ptr<DeviceBuffer> buffer = new_buffer(device_, whole);
  if (buffer && from != nullptr) std::memcpy(buffer->get()->contents(), from, bytes);
  return buffer;
}

/// Called after each launch and copy.
void MetalStream::encoded() {
  if (profile) {
    profile->spans.push_back({profile->id, submit()});
  } else if (commands_->count() >= kCommandsAtOnce) {
    submit();
  }
}

SubmissionPtr MetalStream::submit() {
  pending_.push_back(commands_->submit());
  return pending_.back();
}

/// True if the host may touch memory used by the stream.
bool MetalStream::idle() {
  if (profile || commands_->count() != 0) return false;
  complete();
  return pending_.empty();
}

/// Releases finished submissions.
void MetalStream::complete() {
  for (; !pending_.empty() && pending_.front()->finished(); pending_.pop_front())
    if (error_.empty()) error_ = pending_.front()->error();
}

tern_device_status MetalStream::status() const {
  return error_.empty() ? TERN_DEVICE_OK : failed(TERN_DEVICE_FAILED, "the GPU reports: " + error_);
}

SubmissionPtr MetalStream::record(MTL::SharedEvent& event, std::uint64_t value) {
  const std::lock_guard lock(mutex_);
  commands_->signal(event, value);
  return submit();
}

void MetalStream::wait_for(MTL::SharedEvent& event, std::uint64_t value) {
  const std::lock_guard lock(mutex_);
  if (commands_->count() != 0) submit();
  commands_->wait(event, value);
}

tern_device_status MetalStream::synchronize() {
  SubmissionPtr last;
  {
    const std::lock_guard lock(mutex_);
    if (commands_->count() != 0) submit();
    if (!pending_.empty()) last = pending_.back();
  }
  return finish(last);
}

tern_device_status MetalStream::finish(const SubmissionPtr& submission) {
  if (submission) submission->wait();  // waits without the lock
  const std::lock_guard lock(mutex_);
  complete();
  return status();
}

}  // namespace tern::metal
