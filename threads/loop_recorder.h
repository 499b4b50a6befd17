// Records the loops of a thread: when each part began and ended, and on which thread. Who does not record pays one
// relaxed load for each loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "threads/thread_pool.h"

namespace tern {

/// Times are seconds since a moment that all records share.
struct PartTime {
  int thread = 0;  ///< 0 is the thread that called the loop; the others are numbered for each loop
  double begin = 0, end = 0;
};

struct LoopTime {
  double begin = 0, end = 0;
  ThreadPool::Note note;
  bool openmp = false;  ///< a library ran it on OpenMP's threads: nothing is known of its parts
  std::vector<PartTime> parts;
};

/// One run of one node, and the loops in it.
struct NodeLoops {
  std::uint32_t function = 0, node = 0;
  double begin = 0, end = 0;
  std::vector<LoopTime> loops;
};

class LoopRecorder {
 public:
  enum class Mode : std::uint8_t {
    together,  ///< loops run as they always do
    in_turn,   ///< the caller executes all parts, one after the other: each is timed alone, however few cores there are
  };

  explicit LoopRecorder(Mode mode) : mode_(mode) {}
  LoopRecorder(const LoopRecorder&) = delete;
  LoopRecorder& operator=(const LoopRecorder&) = delete;

  /// That of this thread; null: none.
  static LoopRecorder* current() { return in_force.load(std::memory_order_relaxed) == 0 ? nullptr : of_this_thread(); }
  static double now();

  Mode mode() const { return mode_; }
  /// Runs a loop as ThreadPool::run does.
  void run(std::int64_t parts, ThreadPool::Part part, void* context, ThreadPool::Note note);
  /// A library ran a loop on OpenMP's threads.
  void add_openmp(double begin, double end);
  /// The loops since the last call belong to this node.
  void end_node(std::uint32_t function, std::uint32_t node, double begin, double end);
  /// All nodes since the last call.
  std::vector<NodeLoops> take();

 private:
  friend class RecorderScope;
  static LoopRecorder* of_this_thread();
  static std::atomic<int> in_force;  ///< scopes, of all threads

  Mode mode_;
  std::vector<LoopTime> loops_;
  std::vector<NodeLoops> nodes_;
};

/// Has this thread's loops recorded, or with null not recorded, until the scope ends. Scopes nest.
class RecorderScope {
 public:
  explicit RecorderScope(LoopRecorder* recorder);
  ~RecorderScope();
  RecorderScope(const RecorderScope&) = delete;
  RecorderScope& operator=(const RecorderScope&) = delete;

 private:
  LoopRecorder* outer_;
};

/// Around a call of a library that uses OpenMP's threads. While parts run in turn, the library has one thread.
class OpenMpScope {
 public:
  OpenMpScope();
  ~OpenMpScope();
  OpenMpScope(const OpenMpScope&) = delete;
  OpenMpScope& operator=(const OpenMpScope&) = delete;

 private:
  LoopRecorder* recorder_;  ///< null: nobody records, or there is one thread
  double begin_ = 0;
  int threads_ = 0;  ///< OpenMP's setting before
};

}  // namespace tern
