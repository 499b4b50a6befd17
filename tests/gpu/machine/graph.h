// Graphs, nodes, and captures into graphs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <variant>
#include <vector>

#include "tests/gpu/machine/context.h"
#include "tests/gpu/machine/stream.h"
#include "tests/gpu/machine/work.h"

namespace tern::emulator {

struct Graph;

enum class Condition { if_, while_, switch_ };

struct Empty {};
struct EventNode {
  std::shared_ptr<Event> event;
};
struct Child {
  std::shared_ptr<Graph> graph;  // the node's own copy
};
struct Conditional {
  uint64_t condition = 0;  // handle
  Condition type = Condition::if_;
  std::vector<std::shared_ptr<Graph>> bodies;
  std::vector<uint64_t> handles;  // handles of the bodies; callers get the array
};

using NodeContent = std::variant<Empty, Work, Child, Conditional, EventNode>;

struct Node {
  uint64_t handle = 0;
  uint64_t id = 0;  // unique among all nodes and their copies
  Graph* graph = nullptr;
  std::shared_ptr<Context> context;  // of work
  std::vector<uint64_t> dependencies;
  NodeContent content;
  std::map<int, uint64_t> attributes;  // keyed by the API's number; values are not interpreted
};

struct Graph {
  uint64_t handle = 0;
  Graph* parent = nullptr;  // the graph with the node of this body or child
  bool owned = false;       // owned by a node: callers must not destroy the graph
  std::vector<std::shared_ptr<Node>> nodes;
  unsigned capturing = 0;    // captures into the graph
  uint64_t executables = 0;  // live executable graphs
  Graph* root() { return parent == nullptr ? this : parent->root(); }
};

struct ConditionalHandle {
  uint64_t handle = 0;
  std::weak_ptr<Graph> graph;  // the graph at creation
  std::shared_ptr<Context> context;
  bool assign = false;  // the default, at each launch
  uint32_t first = 0;
  bool used = false;  // has a node
  // State during a launch.
  bool defined = false;
  uint32_t value = 0;
};

enum class CaptureMode { global, thread_local_, relaxed };

struct Capture {
  uint64_t id = 0;
  CaptureMode mode = CaptureMode::global;
  std::thread::id thread;
  std::shared_ptr<Graph> graph;
  std::shared_ptr<Stream> origin;
  bool is_callers_graph = false;  // a graph of the caller's
  bool invalid = false;
  bool ended = false;
  std::string why;
};

// A snapshot of a graph at its instantiation.
struct Executable {
  uint64_t handle = 0;
  std::shared_ptr<Graph> graph;  // a copy with its bodies and children, nodes in execution order
  std::weak_ptr<Graph> source;
  std::vector<std::shared_ptr<ConditionalHandle>> conditions;
  std::shared_ptr<Record> last;  // launch
  bool destroyed = false;
};

}  // namespace tern::emulator
