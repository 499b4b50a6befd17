#include "runtime/devices/times.h"

#include <algorithm>
#include <array>

namespace tern {

DeviceTimes::DeviceTimes(SessionContext& session) : session_(session) {
  if (session.profile == nullptr || session.stream == nullptr) return;
  Device& device = session.stream->device();
  if (device.profiler() == nullptr) return;
  session.stream->synchronize();  // what others have put there is not part of the run
  device.check(device.profiler()->begin(device.index(), session.stream->handle()), "beginning to measure");
  visits_.resize(1);
  profiler_ = device.profiler();
  session.times = this;
}

DeviceTimes::~DeviceTimes() {
  if (profiler_ == nullptr) return;
  session_.times = nullptr;
  session_.stream->settle();
  profiler_->end(session_.stream->device().index(), session_.stream->handle());
}

void DeviceTimes::mark() {
  Device& device = session_.stream->device();
  device.check(profiler_->mark(device.index(), session_.stream->handle(), current_), "measuring a node");
}

void DeviceTimes::enter(std::uint32_t function, std::uint32_t node) {
  visits_.push_back({function, node, current_});
  current_ = visits_.size() - 1;
  mark();
}

void DeviceTimes::leave() {
  current_ = visits_[current_].outer;
  mark();
}

void DeviceTimes::finish() {
  if (profiler_ == nullptr) return;
  DeviceStream& stream = *session_.stream;
  stream.synchronize();
  std::array<tern_device_span, 256> spans{};
  for (;;) {
    std::uint64_t count = 0;
    stream.device().check(profiler_->take(stream.device().index(), stream.handle(), spans.data(), spans.size(), &count),
                          "asking for the times of nodes");
    if (count == 0) return;
    for (const tern_device_span& s : std::span(spans).first(std::min<std::uint64_t>(count, spans.size()))) {
      for (std::size_t v = s.id < visits_.size() ? s.id : 0; v != 0; v = visits_[v].outer)
        session_.profile->add_span(visits_[v].function, visits_[v].node, static_cast<double>(s.end - s.begin) * 1e-9);
    }
  }
}

}  // namespace tern
