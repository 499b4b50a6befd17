// One event of a trace, as threads record it: numbers, and the text that many events share.
#pragma once

#include <cstdint>
#include <string>

namespace tern {

enum class EventKind : std::uint8_t {
  node,          ///< a step of a plan
  run,           ///< of a function or a graph
  scope,         ///< the application's, or the annotations of a node
  launch,        ///< the host starts a kernel
  copy,          ///< the host starts a copy
  wait,          ///< the host waits
  kernel,        ///< on the device
  device_copy,   ///< on the device
  device_scope,  ///< what a scope started there
  plan,          ///< memory is planned
  compile,       ///< a device compiles or loads a kernel
  check,         ///< hashes of weights
  collective,    ///< ranks communicate
  memory,        ///< an allocation or its end
  counter,
};

/// Text that events share. Belongs to the recorder, which has one of each content, and never changes.
struct EventLabel {
  std::string name;                   ///< as JSON wants it in quotes
  std::string args;                   ///< members of the event's "args", each with a comma behind it
  std::string device_args;            ///< the same for what a node starts on a device
  std::string module, source;         ///< of a node: "encoder.fc1", "model.py(42): aten.linear.default"; JSON
  const EventLabel* outer = nullptr;  ///< of a scope: the scope around it
  bool lost = false;                  ///< stands for labels beyond the limit of memory
};

struct TraceEvent {
  std::uint64_t begin = 0, end = 0;   ///< steady_nanoseconds
  const EventLabel* label = nullptr;  ///< never null
  const EventLabel* scope = nullptr;  ///< in force
  const EventLabel* node = nullptr;   ///< of what a node has started
  std::uint64_t id = 0;               ///< "External id" of a node, and of what it has started; memory: its address
  std::uint64_t correlation = 0;      ///< of a launch and what it started; number of a run or collective; memory:
                                      ///< bytes in use; counter: a double
  std::uint64_t bytes = 0;            ///< memory: signed
  std::uint16_t stream = 0;
  std::int16_t device = -1;  ///< number of the device; -1: the host
  EventKind kind = EventKind::node;
  bool unfinished = false;  ///< an exception ended it
  bool flows = false;       ///< a launch that started something; the first thing that it started
};

}  // namespace tern
