// An event of a trace, as recorded by threads: numbers, and text shared by many events.
#pragma once

#include <cstdint>
#include <string>

namespace tern {

enum class EventKind : std::uint8_t {
  node,          ///< a step of a plan
  run,           ///< a run of a function or a graph
  scope,         ///< set by the application or by annotations of a node
  launch,        ///< the host starts a kernel
  copy,          ///< the host starts a copy
  wait,          ///< the host waits
  kernel,        ///< a kernel on the device
  device_copy,   ///< a copy on the device
  device_scope,  ///< device work started by a scope
  plan,          ///< memory is planned
  compile,       ///< a device compiles or loads a kernel
  check,         ///< hashes of weights
  collective,    ///< ranks communicate
  memory,        ///< an allocation or a release
  counter,
};

/// Text shared by events. Immutable, owned by the recorder, unique per content.
struct EventLabel {
  std::string name;                   ///< escaped for JSON strings
  std::string args;                   ///< members of the event's "args", each followed by a comma
  std::string device_args;            ///< likewise for device work started by a node
  std::string module, source;         ///< node: "encoder.fc1", "model.py(42): aten.linear.default"; JSON
  const EventLabel* outer = nullptr;  ///< scope: the enclosing scope
  bool lost = false;                  ///< placeholder for labels beyond the memory limit
};

struct TraceEvent {
  std::uint64_t begin = 0, end = 0;   ///< steady_nanoseconds
  const EventLabel* label = nullptr;  ///< never null
  const EventLabel* scope = nullptr;  ///< the current scope
  const EventLabel* node = nullptr;   ///< node responsible for the work
  std::uint64_t id = 0;               ///< "External id" of a node and of its device work; memory: address
  std::uint64_t correlation = 0;      ///< id of a launch and its work; number of a run or collective; bytes in use; a
                                      ///< double
  std::uint64_t bytes = 0;            ///< memory: signed
  std::uint16_t stream = 0;
  std::int16_t device = -1;  ///< number of the device; -1: the host
  EventKind kind = EventKind::node;
  bool unfinished = false;  ///< ended by an exception
  bool flows = false;       ///< a launch with device work; the first device work of a launch
};

}  // namespace tern
