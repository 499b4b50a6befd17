#include "runtime/stream.h"

#include <tern/error.h>

#include <algorithm>
#include <map>
#include <vector>

namespace tern {
namespace {

/// This thread's scopes, the innermost last.
std::vector<std::shared_ptr<StreamImpl>>& scopes() {
  static thread_local std::vector<std::shared_ptr<StreamImpl>> list;
  return list;
}

}  // namespace

std::shared_ptr<StreamImpl> scoped_stream(const Device& device) {
  const auto& list = scopes();
  const auto found =
      std::find_if(list.rbegin(), list.rend(), [&](const auto& s) { return &s->device_stream->device() == &device; });
  return found == list.rend() ? nullptr : *found;
}

Stream::Stream(const std::string& device) : impl_(std::make_shared<StreamImpl>(Device::open(device))) {}

Stream::Stream(const std::string& device, const StreamShare& share)
    : impl_(std::make_shared<StreamImpl>(Device::open(device), share)) {}

Stream Stream::current(const std::string& device) {
  static thread_local std::map<const Device*, std::shared_ptr<StreamImpl>> own;
  Device& d = Device::open(device);
  if (auto scoped = scoped_stream(d)) return Stream(std::move(scoped));
  auto& stream = own[&d];
  if (stream == nullptr) stream = std::make_shared<StreamImpl>(d);
  return Stream(stream);
}

const std::string& Stream::device() const {
  return impl_->device();
}

StreamShare Stream::share() const {
  return impl_->device_stream->share();
}

bool Stream::is_capturing() const {
  return impl_->capture != nullptr || impl_->device_stream->is_captured();
}

bool Stream::query() const {
  return impl_->device_stream->has_finished();
}

void Stream::synchronize() const {
  if (impl_->capture != nullptr)
    fail(ErrorCode::invalid_argument, "waiting for a stream is not possible during a capture");
  impl_->device_stream->finish();
}

void* Stream::native() const {
  return impl_->device_stream->native();
}

void Stream::wait_native(void* stream) const {
  if (impl_->capture != nullptr)
    fail(ErrorCode::invalid_argument, "a stream cannot wait for another one while a graph records it");
  impl_->device_stream->wait_native(stream);
}

StreamScope::StreamScope(const Stream& stream) {
  scopes().push_back(stream.impl());
}

StreamScope::~StreamScope() {
  scopes().pop_back();
}

}  // namespace tern
