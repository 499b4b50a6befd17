// Streams and events: queues of work that has not run yet.
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

// One recording of an event: done once all work that was in the stream before it is done.
struct Record {
  std::shared_ptr<Stream> stream;  // until it is done
  bool done = false;
  bool asked = false;  // a query has answered "not ready"
  uint64_t time = 0;   // of the counted clock, in microseconds
};

struct Signal {
  std::shared_ptr<Record> record;
};
struct Wait {
  std::shared_ptr<Record> record;
};
struct GraphRun {
  std::shared_ptr<Executable> executable;
};

using Operation = std::variant<Work, Signal, Wait, GraphRun>;

struct Stream {
  uint64_t handle = 0;
  std::shared_ptr<Context> context;
  unsigned flags = 0;
  bool detached = false;        // its green context is gone
  std::vector<uint32_t> units;  // HIP's mask of compute units; empty: all
  bool asked = false;           // a query has answered "not ready" since the last work was queued
  bool running = false;         // an operation, which may wait for other processes without the machine's lock
  std::deque<Operation> queue;
  // While it captures.
  std::shared_ptr<Capture> capture;
  std::vector<uint64_t> dependencies;  // nodes that the next one follows; the array is given to callers
};

struct Event {
  uint64_t handle = 0;
  std::shared_ptr<Context> context;
  unsigned flags = 0;
  bool timing = true;
  std::shared_ptr<Record> record;  // null before the first
  // Last recorded in a capture: its nodes. The capture may have ended.
  std::shared_ptr<Capture> capture;
  std::vector<uint64_t> dependencies;
};

}  // namespace tern::emulator
