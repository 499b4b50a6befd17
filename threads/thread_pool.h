// The process-wide threads of the kernels. A caller executes the parts that no thread has begun, so that it
// waits only for threads that are already at work. Many callers may use it at once.
#pragma once

#include <cstdint>

namespace tern {

class ThreadPool {
 public:
  /// Does one part; must not throw.
  using Part = void (*)(void* context, std::int64_t part);

  /// Started with the first call that needs it.
  static ThreadPool& shared();

  /// Of a loop, for a LoopRecorder.
  struct Note {
    std::int64_t part_reads = 0;  ///< bytes that every part reads, whatever its share; 0 where nobody says
    std::int64_t pieces = 0;      ///< that threads take from each other's parts (pieces.h); 0: parts are fixed
  };

  /// Calls part(context, i) for i from 0 to parts - 1, each once, on this thread and up to parts - 1 others; returns
  /// when all are done.
  void run(std::int64_t parts, Part part, void* context, Note note = {0, 0});

 private:
  ThreadPool();
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  struct State;
  State* state_;
};

}  // namespace tern
