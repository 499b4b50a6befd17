// Streams and events: queues of pending work.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <variant>
#include <vector>

#include "tests/gpu/machine/context.h"
#include "tests/gpu/machine/work.h"

namespace tern::emulator {

struct Stream;
struct Capture;
struct Executable;
struct Graph;

// A recording of an event: done once all earlier work of the stream is done.
struct Record {
  std::shared_ptr<Stream> stream;  // until done
  bool is_complete = false;
  bool is_queried = false;  // a query has answered "not ready"
  uint64_t time = 0;        // time on the counted clock, in microseconds
};

struct Signal {
  std::shared_ptr<Record> record;
};
struct Wait {
  std::shared_ptr<Record> record;
};
struct GraphRun {
  std::shared_ptr<Executable> executable;
  std::shared_ptr<Graph> graph;  // the executable's at the launch
  uint32_t number = 0;           // number of the launch
};

using Operation = std::variant<Work, Signal, Wait, GraphRun>;

struct Stream {
  uint64_t handle = 0;
  std::shared_ptr<Context> context;
  unsigned flags = 0;
  bool detached = false;        // its green context was destroyed
  std::vector<uint32_t> units;  // HIP's mask of compute units; empty: all
  bool is_queried = false;      // a query has answered "not ready" since the last work was queued
  bool running = false;         // an operation runs, possibly waiting for other processes without the machine's lock
  std::deque<Operation> queue;
  // State during a capture.
  std::shared_ptr<Capture> capture;
  std::vector<uint64_t> dependencies;  // dependencies of the next node; callers get the array
};

struct Event {
  uint64_t handle = 0;
  std::shared_ptr<Context> context;
  unsigned flags = 0;
  bool timing = true;
  std::shared_ptr<Record> record;  // null before the first
  // Nodes of the last recording in a capture. The capture may have ended.
  std::shared_ptr<Capture> capture;
  std::vector<uint64_t> dependencies;
};

}  // namespace tern::emulator
