// The emulated machine, a single instance per process. Vendors' APIs are thin layers over the machine. Every function
// of Machine runs under its lock, and refuses by throwing Failure.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tests/gpu/machine/counted.h"
#include "tests/gpu/machine/counters.h"
#include "tests/gpu/machine/graph.h"
#include "tests/gpu/machine/handles.h"
#include "tests/gpu/machine/memory.h"

namespace tern::emulator {

// The name of the API function running on this thread, for messages and histories.
const char* current_call();

class Machine {
 public:
  static Machine& get();

  std::recursive_mutex lock;
  Counters counters;
  Memory memory{&counters};
  CountedLaunches counted;

  // Contexts (contexts.cpp).
  void initialize();
  bool initialized() const { return initialized_; }
  int check_device(int device) const;
  uint64_t retain_primary(int device);
  void release_primary(int device);
  void set_current(uint64_t context);  // 0: none
  void push_current(uint64_t context);
  uint64_t pop_current();
  uint64_t current_or_null() const;
  // Refused on a thread without a current context.
  std::shared_ptr<Context> current() const;
  std::shared_ptr<Context> context(uint64_t handle) const;
  // A context with some of a device's multiprocessors. Retains the primary context.
  uint64_t create_partition(int device, const Descriptor& of);
  void destroy_partition(uint64_t handle);
  std::shared_ptr<Context> partition(uint64_t handle) const { return partitions_.get(handle); }

  // Streams and events (streams.cpp).
  uint64_t create_stream(const std::shared_ptr<Context>& context, unsigned flags);
  void destroy_stream(uint64_t stream);
  std::shared_ptr<Stream> stream(uint64_t handle) const;  // not detached
  void synchronize(uint64_t stream);
  void query(uint64_t stream);  // refuses with not_ready
  uint64_t create_event(const std::shared_ptr<Context>& context, unsigned flags, bool timing);
  void destroy_event(uint64_t event);
  std::shared_ptr<Event> event(uint64_t handle) const { return events_.get(handle); }
  void record(uint64_t event, uint64_t stream);
  void wait(uint64_t stream, uint64_t event);
  void synchronize_event(uint64_t event);
  void query_event(uint64_t event);
  float elapsed(uint64_t start, uint64_t end);

  // Work (submit.cpp). Becomes a node while the stream captures.
  // Between the memory of two devices, with and without peer access.
  void copy_peer(uint64_t to, int to_device, uint64_t from, int from_device, uint64_t bytes, uint64_t stream);
  bool can_access(int device, int peer) const;
  // Refuses with peer_unsupported or peer_enabled.
  void enable_peer(int device, int peer);
  void copy(Direction direction, uint64_t to, uint64_t from, uint64_t bytes, uint64_t stream);
  void fill(const Fill& fill, uint64_t stream);
  void launch(Launch launch, uint64_t stream);
  // Checks the limits of the device and of the function.
  void check_launch(const Launch& launch) const;
  void check_copy(Copy& copy) const;
  void check_fill(const Fill& fill) const;

  // Modules (modules.cpp).
  uint64_t load(const std::shared_ptr<Context>& context, std::shared_ptr<Module> module);
  void unload(uint64_t module);
  uint64_t function(uint64_t module, const std::string& name);
  std::shared_ptr<Function> function(uint64_t handle) const { return functions_.get(handle); }

  // Capture (captures.cpp).
  void begin_capture(uint64_t stream, CaptureMode mode, uint64_t graph, std::span<const uint64_t> dependencies);
  // 0 if the capture was invalidated, with a refusal.
  uint64_t end_capture(uint64_t stream);
  CaptureMode exchange_mode(CaptureMode mode);
  // Extends or replaces the dependencies of a capturing stream's next node.
  void update_dependencies(uint64_t stream, std::span<const uint64_t> nodes, bool replace);
  // Refuses an unsafe call during a capture, and invalidates the captures that forbid the call.
  void unsafe();

  // Graphs (graphs.cpp).
  uint64_t create_graph();
  void destroy_graph(uint64_t graph);
  std::shared_ptr<Graph> graph(uint64_t handle) const { return graphs_.get(handle); }
  std::shared_ptr<Node> node(uint64_t handle) const { return nodes_.get(handle); }
  uint64_t add_node(uint64_t graph, std::span<const uint64_t> dependencies, const std::shared_ptr<Context>& context,
                    NodeContent what);
  uint64_t create_condition(uint64_t graph, const std::shared_ptr<Context>& context, uint32_t first, bool assign);
  uint64_t add_event(uint64_t graph, std::span<const uint64_t> dependencies, uint64_t event);
  uint64_t add_child(uint64_t graph, std::span<const uint64_t> dependencies, uint64_t child);
  std::shared_ptr<Node> add_conditional(uint64_t graph, std::span<const uint64_t> dependencies, uint64_t condition,
                                        const std::shared_ptr<Context>& context, Condition type, uint32_t bodies);
  uint64_t instantiate(uint64_t graph);
  void destroy_executable(uint64_t executable);
  // Returns the difference that forbids the update; empty: updated. `while_running`: launches may be pending.
  std::string update_executable(uint64_t executable, uint64_t graph, bool while_running);
  void launch_graph(uint64_t executable, uint64_t stream);
  // Null: no observer.
  void observe(const tern_emulator_observer* observer) { observer_ = observer; }

  // Execution (run.cpp).
  void run_all(Stream& stream);
  void run_until(const std::shared_ptr<Record>& record);
  // The handler of cudaGraphSetConditional.
  void set_condition(uint64_t handle, uint32_t value);

  // Number of multiprocessors for a part; lives as long as the process.
  uint64_t add_descriptor(const Descriptor& of);
  Descriptor descriptor(uint64_t handle) const { return *descriptors_.get(handle); }
  void count();  // updates the counters of live objects

 private:
  Machine();
  ~Machine() = delete;  // lives until the process ends: other threads and handlers may still access the machine

  void run_one(Stream& stream);
  void give_way();
  // Used by queries, which never wait.
  void run_one_beside(const std::shared_ptr<Stream>& stream);
  void run(const Work& work);
  void run(const Graph& graph, const Executable& executable);
  void run(const Node& node, const Executable& executable);
  void run_launch(const Launch& launch);
  void run_copy(const Copy& copy);
  void submit(Work work, const std::shared_ptr<Stream>& stream);
  void add_captured(const std::shared_ptr<Stream>& stream, Work work);
  void invalidate(Capture& capture, const std::string& why);
  void leave_capture(Capture& capture);
  void forget_graph(Graph& graph);
  void end_context(Context& context);
  std::shared_ptr<Graph> make_graph(Graph* parent);
  void number_copies(const Graph& graph);

  bool initialized_ = false;
  std::map<int, std::shared_ptr<Context>> primaries_;
  std::set<std::pair<int, int>> peers_;  // accessing device, accessed device
  Handles<Context, Kind::context> contexts_;
  Handles<Context, Kind::partition> partitions_;
  Handles<Stream, Kind::stream> streams_;
  Handles<Event, Kind::event> events_;
  Handles<Module, Kind::module> modules_;
  Handles<Function, Kind::function> functions_;
  Handles<Graph, Kind::graph> graphs_;
  Handles<Node, Kind::node> nodes_;
  Handles<Executable, Kind::executable> executables_;
  Handles<ConditionalHandle, Kind::conditional> conditions_;
  Handles<Descriptor, Kind::descriptor> descriptors_;
  std::vector<std::shared_ptr<Stream>> orphans_;  // destroyed with pending work
  std::vector<std::shared_ptr<Capture>> captures_;
  const Executable* running_ = nullptr;
  uint32_t running_launch_ = 0;
  const tern_emulator_observer* observer_ = nullptr;
  uint64_t last_node_ = 0;
  uint32_t last_launch_ = 0;
  uint64_t clock_ = 0;  // counted microseconds
  uint64_t last_capture_ = 0;
};

}  // namespace tern::emulator
