// Process-wide kernel threads. A caller executes all chunks not begun by other threads, so it waits only for threads
// already working. Thread-safe.
#pragma once

#include <cstdint>

namespace tern {

class ThreadPool {
 public:
  /// Executes one chunk; must not throw.
  using ChunkFunction = void (*)(void* context, std::int64_t chunk);

  /// Started by the first call needing threads.
  static ThreadPool& shared();

  /// Notes about a loop, for LoopRecorder.
  struct Note {
    std::int64_t chunk_reads = 0;  ///< bytes read by every chunk regardless of its share; 0 if unknown
    std::int64_t pieces = 0;       ///< number of pieces stolen between chunks (pieces.h); 0: fixed chunks
  };

  /// Calls run_chunk(context, i) once for each i in [0, chunk_count), on this thread and up to chunk_count - 1 others;
  /// returns after all calls.
  void run(std::int64_t chunk_count, ChunkFunction run_chunk, void* context, Note note = {0, 0});

 private:
  ThreadPool();
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  struct State;
  State* state_;
};

}  // namespace tern
