// What runs did and when: events in the JSON that PyTorch's profiler writes, for Perfetto, chrome://tracing,
// HolisticTraceAnalysis and `tern trace` (docs/traces.md lists the fields).
//
//   tern::Trace trace("run.json.gz");
//   {
//     const tern::Trace::Scope scope("warm-up");
//     session.run({input});
//   }
//   trace.stop();
//
// A trace records all sessions of the process, on all threads. Runs that begin while it records are synchronous, as
// profiled runs are, and replays of graphs start their launches one by one, so that each kernel has its node.
// While nothing records, a run pays one relaxed load.
#pragma once

#include <tern/api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tern {

class TraceRecorder;

struct TraceOptions {
  /// Limit for events that wait to be written, and for names and arguments, bytes each; at least 1 MiB. Events beyond
  /// it are dropped and counted; so are counters whose names are beyond it, while other events lose their names.
  std::uint64_t memory = std::uint64_t{64} << 20;
  int rank = 0;         ///< this process's among `world_size` (distributedInfo)
  int world_size = 1;   ///< 1: not distributed
  std::string backend;  ///< of the ranks: "gloo", "nccl"
};

struct TraceStats {
  std::uint64_t events = 0;   ///< written
  std::uint64_t dropped = 0;  ///< by the limit of memory
  std::uint64_t unnamed = 0;  ///< of those that were written, by the limit of names and arguments
};

/// Records from its construction to stop(). A process has one at a time. Belongs to one thread; the recorded sessions
/// may run on any.
class TERN_API Trace {
 public:
  /// Writes to PATH.tmp.PID. A name that ends in ".gz" is compressed, by the system's libz.so.1. Throws tern::Error: io
  /// if the file cannot be made, invalid_argument while another trace records or if an option is out of range.
  explicit Trace(const std::string& path, const TraceOptions& options = {});
  /// Stops if nobody has, and ignores errors of writing: call stop() to get them.
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Writes the rest, and gives the file its name. Runs on other threads should have ended: their last events are lost.
  /// Throws io, also for earlier failures to write, and removes the temporary file then. A second call returns the same
  /// figures.
  TraceStats stop();

  /// Whether a trace records now.
  static bool active();
  /// A sample of a counter: the track `name`, the series `series`. Does nothing while none records.
  static void counter(std::string_view name, std::string_view series, double value);
  /// A fact about the whole trace, beside PyTorch's in the file's outermost object. Does nothing while none records.
  static void describe(std::string_view key, std::string_view value);

  /// Annotates what this thread runs while it lives. Scopes nest, and end in reverse order on the thread that made
  /// them. Does nothing while no trace records.
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
