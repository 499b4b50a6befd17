// Traces of runs: timed events in the JSON format of PyTorch's profiler, for Perfetto, chrome://tracing,
// HolisticTraceAnalysis and `tern trace` (docs/traces.md lists the fields).
//
//   tern::Trace trace("run.json.gz");
//   {
//     const tern::Trace::Scope scope("warm-up");
//     session.run({input});
//   }
//   trace.stop();
//
// A trace records all sessions of the process, on all threads. Runs begun while recording are synchronous, like
// profiled runs, and replays of graphs start their launches separately, to assign each kernel to its node. Without a
// recording trace, a run costs a single relaxed load.
#pragma once

#include <tern/api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tern {

class TraceRecorder;

struct TraceOptions {
  /// Limit for queued events, and for names and arguments, bytes each; at least 1 MiB. Events beyond the limit are
  /// dropped and counted, and so are counters with names beyond the limit; other events lose their names.
  std::uint64_t memory = std::uint64_t{64} << 20;
  int rank = 0;         ///< rank of this process among `world_size` (distributedInfo)
  int world_size = 1;   ///< 1: not distributed
  std::string backend;  ///< backend of the ranks: "gloo", "nccl"
};

/// An event of Trace::events().
struct TraceRecord {
  std::string name;                  ///< "tern::matmul", the kernel's name, "ProfilerStep#3"
  std::string type;                  ///< `cat` of docs/traces.md: "cpu_op", "kernel"; "counter" for counters
  std::uint64_t begin = 0, end = 0;  ///< nanoseconds of the process's monotonic clock
  std::uint64_t thread = 0;          ///< the system's number of the recording thread
  int device = -1;                   ///< number of the device; -1: the host
  int stream = 0;                    ///< number of the device's stream
  std::uint64_t id = 0;              ///< number of a node or run, shared with its device work; 0: none
  std::uint64_t correlation = 0;     ///< number of a launch, copy or wait, shared with its device work; 0: none
  std::uint64_t flow = 0;            ///< id of the arrow from a launch to its work; 0: none
  bool flow_begins = false;          ///< the arrow begins here
  bool unfinished = false;           ///< ended by an exception
  std::int64_t sequence = -1;        ///< sequence number of a collective in its group; -1: none
  std::int64_t bytes = 0;            ///< copied, checked or allocated; negative: released
  double value = 0;                  ///< counter: the sample; allocation: bytes in use afterwards
  std::vector<std::vector<std::int64_t>> input_sizes, output_sizes;  ///< a node's
  std::string function;                                              ///< the run's or node's
  std::string origin;                                                ///< the node's operator: "aten.mm.default"
  std::string module;                                                ///< "encoder.fc1"
  std::string call_stack;                                            ///< Python line of the operator: "model.py:42"
  std::string annotation;                                            ///< scopes, outermost first: "epoch 1/warm-up"
  std::string args;                                                  ///< all members as a JSON object (docs/traces.md)
};

struct TraceStats {
  std::uint64_t events = 0;   ///< written, or kept for Trace::events()
  std::uint64_t dropped = 0;  ///< dropped by the memory limit
  std::uint64_t unnamed = 0;  ///< written events without names, by the limit of names and arguments
};

/// Records from construction to stop(). A process has at most one active trace. A Trace belongs to one thread; the
/// recorded sessions may run on any thread.
class TERN_API Trace {
 public:
  /// Writes to PATH.tmp.PID. The system's libz.so.1 compresses files named "*.gz". Throws tern::Error: io if the file
  /// cannot be created, invalid_argument while another trace records or if an option is out of range.
  explicit Trace(const std::string& path, const TraceOptions& options = {});
  /// Keeps events in memory for events(), instead of a file; at most TraceOptions::memory bytes of them.
  explicit Trace(const TraceOptions& options = {});
  /// Stops a recording trace, and ignores write errors: call stop() to get the errors.
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Writes the remaining events, and renames the file. Runs on other threads should have ended: their last events are
  /// lost. Throws io, also for earlier failures to write, and removes the temporary file then. A second call returns
  /// the same figures.
  TraceStats stop();
  /// The events of a stopped trace without a file, each thread's in the order of their ends. Throws invalid_argument
  /// while the trace records, and for a trace with a file.
  std::vector<TraceRecord> events() const;

  /// True while a trace records.
  static bool active();
  /// A sample of a counter: the track `name`, the series `series`. Does nothing while none records.
  static void counter(std::string_view name, std::string_view series, double value);
  /// Adds a fact about the whole trace to the file's outermost object, beside PyTorch's facts. Does nothing while none
  /// records.
  static void describe(std::string_view key, std::string_view value);

  /// Annotates the thread's runs during the scope's lifetime. Scopes nest, and end in reverse order on their own
  /// thread. Does nothing while no trace records.
  class TERN_API Scope {
   public:
    explicit Scope(std::string_view name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    std::shared_ptr<TraceRecorder> recorder_;
    const void* outer_ = nullptr;
    const void* label_ = nullptr;
    std::uint64_t begin_ = 0;
  };

 private:
  std::shared_ptr<TraceRecorder> recorder_;
  TraceStats stats_;
};

}  // namespace tern
