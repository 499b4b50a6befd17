// Records a thread's loops: begin, end and thread of each chunk. Without a recorder, each loop costs one relaxed load.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "threads/thread_pool.h"

namespace tern {

/// Times are seconds since a common origin of all records.
struct ChunkTime {
  int thread = 0;  ///< 0: the calling thread; other threads are numbered per loop
  double begin = 0, end = 0;
};

struct LoopTime {
  double begin = 0, end = 0;
  ThreadPool::Note note;
  bool openmp = false;  ///< executed by a library on OpenMP's threads: chunks are unknown
  std::vector<ChunkTime> chunks;
};

/// A run of one node, with its loops.
struct NodeLoops {
  std::uint32_t function = 0, node = 0;
  double begin = 0, end = 0;
  std::vector<LoopTime> loops;
};

class LoopRecorder {
 public:
  enum class Mode : std::uint8_t {
    together,  ///< loops run as usual
    serial,    ///< the caller executes all chunks in turn: each is timed alone, independent of the core count
  };

  explicit LoopRecorder(Mode mode) : mode_(mode) {}
  LoopRecorder(const LoopRecorder&) = delete;
  LoopRecorder& operator=(const LoopRecorder&) = delete;

  /// Returns this thread's recorder, or null.
  static LoopRecorder* current() {
    return active_scopes.load(std::memory_order_relaxed) == 0 ? nullptr : thread_recorder();
  }
  static double now();

  Mode mode() const { return mode_; }
  /// Runs a loop like ThreadPool::run.
  void run(std::int64_t chunk_count, ThreadPool::ChunkFunction run_chunk, void* context, ThreadPool::Note note);
  /// Records a library's loop on OpenMP's threads.
  void add_openmp(double begin, double end);
  /// Assigns the loops since the last call to this node.
  void end_node(std::uint32_t function, std::uint32_t node, double begin, double end);
  /// Returns all nodes since the last call.
  std::vector<NodeLoops> take_nodes();

 private:
  friend class RecorderScope;
  static LoopRecorder* thread_recorder();
  static std::atomic<int> active_scopes;  ///< number of scopes on all threads

  Mode mode_;
  std::vector<LoopTime> loops_;
  std::vector<NodeLoops> nodes_;
};

/// Records this thread's loops (null: stops recording) until the scope ends. Scopes nest.
class RecorderScope {
 public:
  explicit RecorderScope(LoopRecorder* recorder);
  ~RecorderScope();
  RecorderScope(const RecorderScope&) = delete;
  RecorderScope& operator=(const RecorderScope&) = delete;

 private:
  LoopRecorder* outer_;
};

/// Surrounds a library call using OpenMP's threads. While chunks run in turn, the library uses a single thread.
class OpenMpScope {
 public:
  OpenMpScope();
  ~OpenMpScope();
  OpenMpScope(const OpenMpScope&) = delete;
  OpenMpScope& operator=(const OpenMpScope&) = delete;

 private:
  LoopRecorder* recorder_;  ///< null without a recorder, or with a single thread
  double begin_ = 0;
  int threads_ = 0;  ///< OpenMP's setting before
};

}  // namespace tern
