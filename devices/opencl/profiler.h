// The table "profiler": times of a stream's work, from OpenCL's events.
#pragma once

#include "devices/opencl/handles.h"

namespace tern::opencl {

/// Holds the event of one enqueued command if the stream is measured; else null.
class TimedCommand {
 public:
  explicit TimedCommand(tern_device_stream stream) : stream_(stream) {}
  ~TimedCommand();
  TimedCommand(const TimedCommand&) = delete;
  TimedCommand& operator=(const TimedCommand&) = delete;
  cl_event* event() { return stream_->profile == nullptr ? nullptr : &event_; }

 private:
  tern_device_stream stream_;
  cl_event event_ = nullptr;
};

const tern_device_profiler_functions* profiler_functions();

}  // namespace tern::opencl
