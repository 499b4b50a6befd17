// The threads of the process that kernels share: a caller does the parts of its work that nobody else has begun, so
// that it waits for a thread only where that is at work already. Many callers may come at once.
#pragma once

#include <cstdint>

namespace tern {

class ThreadPool {
 public:
  /// Does one part; must not throw.
  using Part = void (*)(void* context, std::int64_t part);

  /// Started with the first call that needs it.
  static ThreadPool& shared();

  /// Calls part(context, i) for i from 0 to parts - 1, each once, on this thread and up to parts - 1 others; returns
  /// when all are done.
  void run(std::int64_t parts, Part part, void* context);

 private:
  ThreadPool();
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  struct State;
  State* state_;
};

}  // namespace tern
