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

struct TraceStats {
  std::uint64_t events = 0;   ///< written
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
  /// Stops a recording trace, and ignores write errors: call stop() to get the errors.
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Writes the remaining events, and renames the file. Runs on other threads should have ended: their last events are
  /// lost. Throws io, also for earlier failures to write, and removes the temporary file then. A second call returns
  /// the same figures.
  TraceStats stop();

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
