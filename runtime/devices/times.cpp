#include "runtime/devices/times.h"

namespace tern {

DeviceTimes::DeviceTimes(SessionContext& session) : session_(session) {
  if (session.profile == nullptr || session.stream->clock() == nullptr) return;
  session.stream->synchronize();  // what others have put there is not part of the run
  session.stream->clock()->begin();
  visits_.resize(1);
  clock_ = session.stream->clock();
  session.times = this;
}

DeviceTimes::~DeviceTimes() {
  if (clock_ == nullptr) return;
  session_.times = nullptr;
  session_.stream->settle();
  clock_->end();
}

void DeviceTimes::enter(std::uint32_t function, std::uint32_t node) {
  visits_.push_back({function, node, current_});
  current_ = visits_.size() - 1;
  clock_->mark(current_);
}

void DeviceTimes::leave() {
  current_ = visits_[current_].outer;
  clock_->mark(current_);
}

void DeviceTimes::finish() {
  if (clock_ == nullptr) return;
  session_.stream->synchronize();
  for (;;) {
    const std::span<const StepClock::Time> times = clock_->take();
    if (times.empty()) return;
    for (const StepClock::Time& t : times) {
      for (std::size_t v = t.id < visits_.size() ? t.id : 0; v != 0; v = visits_[v].outer)
        session_.profile->add_span(visits_[v].function, visits_[v].node, t.seconds);
    }
  }
}

}  // namespace tern
