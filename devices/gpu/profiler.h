// "profiler": times launches and copies by device events.
#pragma once

#include <cstdint>
#include <vector>

#include "devices/gpu/handles.h"

namespace tern::gpu {

/// Work enqueued on a stream since `begin` and not yet taken, in order.
struct StreamProfile {
  struct Command {
    std::uint64_t id;
    Event begin, end;
  };
  std::uint64_t id = 0;  ///< id of the last mark
  Event zero = nullptr;  ///< origin of the clock
  std::vector<Command> commands;
};

/// Brackets enqueued work with two events, if the stream is measured.
class TimedWork {
 public:
  explicit TimedWork(tern_device_stream_s& stream);
  ~TimedWork();
  TimedWork(const TimedWork&) = delete;
  TimedWork& operator=(const TimedWork&) = delete;

 private:
  tern_device_stream_s& stream_;
  Event begin_ = nullptr;
};

}  // namespace tern::gpu
