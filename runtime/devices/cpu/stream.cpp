#include "runtime/devices/cpu/stream.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <chrono>
#include <cstring>

#include "runtime/devices/cpu/load_bytes.h"

namespace tern {
namespace {

/// A CPU event: a time.
class CpuEvent : public DeviceEvent {
  using Clock = std::chrono::steady_clock;

 public:
  Handle handle() const override { return static_cast<Handle>(time_); }
  bool happened() override { return true; }
  void synchronize() override {}
  double seconds_until(const DeviceEvent& end) const override {
    const auto later = static_cast<Clock::rep>(end.handle());
    return std::chrono::duration<double>(Clock::duration(later - time_)).count();
  }

 private:
  Clock::rep time_ = Clock::now().time_since_epoch().count();
};

}  // namespace

void CpuStream::enqueue_upload(std::byte* to, const void* from, std::uint64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void CpuStream::enqueue_download(void* to, const std::byte* from, std::uint64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void CpuStream::load(StorageSource& source, std::span<const StorageLoad> loads) {
  for (const StorageLoad& l : loads) {
    const std::span<const std::byte> from = source.bytes(l.storage);
    if (from.size() < l.bytes)
      fail(ErrorCode::bad_file, fmt::format("storage {} has fewer bytes than declared", l.storage));
    load_bytes(l.destination, from.first(l.bytes));
  }
}

std::unique_ptr<DeviceEvent> CpuStream::record() {
  return std::make_unique<CpuEvent>();
}

}  // namespace tern
