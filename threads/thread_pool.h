// Process-wide kernel threads. A caller executes all parts not begun by other threads, so it waits only for threads
// already working. Thread-safe.
#pragma once

#include <cstdint>

namespace tern {

class ThreadPool {
 public:
  /// Executes one part; must not throw.
  using Part = void (*)(void* context, std::int64_t part);

  /// Started by the first call needing threads.
  static ThreadPool& shared();

  /// Notes about a loop, for LoopRecorder.
  struct Note {
    std::int64_t part_reads = 0;  ///< bytes read by every part regardless of its share; 0 if unknown
    std::int64_t pieces = 0;      ///< number of pieces stolen between parts (pieces.h); 0: fixed parts
  };

  /// Calls part(context, i) once for each i in [0, parts), on this thread and up to parts - 1 others; returns after all
  /// calls.
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
