#include "runtime/stream.h"

#include <tern/error.h>

#include <algorithm>
#include <map>
#include <vector>

namespace tern {
namespace {

std::shared_ptr<StreamImpl> make_stream(const std::string& device) {
  auto stream = std::make_shared<StreamImpl>();
  if (device.empty() || device == "cpu") return stream;
  stream->work = std::make_shared<DeviceStream>(Device::open(device));
  stream->device = stream->work->device().name();
  return stream;
}

/// This thread's scopes, the innermost last.
std::vector<std::shared_ptr<StreamImpl>>& scopes() {
  static thread_local std::vector<std::shared_ptr<StreamImpl>> list;
  return list;
}

/// "xpu" is "xpu:0".
std::string full_name(const std::string& device) {
  if (device.empty() || device == "cpu") return "cpu";
  return Device::open(device).name();
}

}  // namespace

std::shared_ptr<StreamImpl> scoped_stream(const std::string& device) {
  const auto& list = scopes();
  const auto found = std::find_if(list.rbegin(), list.rend(), [&](const auto& s) { return s->device == device; });
  return found == list.rend() ? nullptr : *found;
}

Stream::Stream(const std::string& device) : impl_(make_stream(device)) {}

Stream Stream::current(const std::string& device) {
  static thread_local std::map<std::string, std::shared_ptr<StreamImpl>> own;
  const std::string name = full_name(device);
  if (auto scoped = scoped_stream(name)) return Stream(std::move(scoped));
  auto& stream = own[name];
  if (stream == nullptr) stream = make_stream(name);
  return Stream(stream);
}

const std::string& Stream::device() const {
  return impl_->device;
}

bool Stream::is_capturing() const {
  return impl_->capture != nullptr;
}

bool Stream::query() const {
  if (impl_->work == nullptr || impl_->work->idle()) return true;
  Event now;
  now.record(*this);
  return now.query();
}

void Stream::synchronize() const {
  if (impl_->capture != nullptr) fail(ErrorCode::invalid_argument, "a stream cannot be waited for during a capture");
  if (impl_->work != nullptr) impl_->work->finish();
}

StreamScope::StreamScope(const Stream& stream) {
  scopes().push_back(stream.impl());
}

StreamScope::~StreamScope() {
  scopes().pop_back();
}

}  // namespace tern
