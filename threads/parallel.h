// Loops over the threads of the run (Threads::current). Exceptions reach the caller.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>

#include "threads/thread_pool.h"
#include "threads/threads.h"

namespace tern {

/// Calls f(begin, end) for parts of 0..n, at least `grain` items each except the last, on as many threads as possible.
/// `part_reads`: bytes read by every part regardless of its share, a whole weight for example (LoopRecorder).
template <class F>
void parallel_for(std::int64_t n, std::int64_t grain, F&& f, std::int64_t part_reads = 0) {
  if (n <= 0) return;
  const std::int64_t parts = std::min<std::int64_t>(Threads::current().count(), n / std::max<std::int64_t>(grain, 1));
  if (parts <= 1) {
    f(std::int64_t{0}, n);
    return;
  }
  struct Loop {
    F& f;
    std::int64_t n, parts;
    std::mutex mutex;
    std::exception_ptr error;
  } loop{f, n, parts, {}, {}};
  const auto part = [](void* context, std::int64_t p) {
    auto& l = *static_cast<Loop*>(context);
    const std::int64_t begin = p * (l.n / l.parts) + std::min(p, l.n % l.parts);
    const std::int64_t end = begin + l.n / l.parts + (p < l.n % l.parts ? 1 : 0);
    try {
      l.f(begin, end);
    } catch (...) {
      const std::lock_guard lock(l.mutex);
      if (!l.error) l.error = std::current_exception();
    }
  };
  ThreadPool::shared().run(parts, part, &loop, {part_reads, 0});
  if (loop.error) std::rethrow_exception(loop.error);
}

}  // namespace tern
