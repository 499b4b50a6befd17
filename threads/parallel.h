// Loops over the threads of the run (Threads::current). Exceptions reach the caller.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>

#include "threads/thread_pool.h"
#include "threads/threads.h"

namespace tern {

/// Calls f(begin, end) for chunks of 0..n, at least `grain` items each except the last, on as many threads as possible.
/// `chunk_reads`: bytes read by every chunk regardless of its share, a whole weight for example (LoopRecorder).
template <class F>
void parallel_for(std::int64_t n, std::int64_t grain, F&& f, std::int64_t chunk_reads = 0) {
  if (n <= 0) return;
  const std::int64_t chunk_count =
      std::min<std::int64_t>(Threads::current().count(), n / std::max<std::int64_t>(grain, 1));
  if (chunk_count <= 1) {
    f(std::int64_t{0}, n);
    return;
  }
  struct Loop {
    F& f;
    std::int64_t n, chunk_count;
    std::mutex mutex;
    std::exception_ptr error;
  } loop{f, n, chunk_count, {}, {}};
  const auto run_chunk = [](void* context, std::int64_t p) {
    auto& l = *static_cast<Loop*>(context);
    const std::int64_t begin = p * (l.n / l.chunk_count) + std::min(p, l.n % l.chunk_count);
    const std::int64_t end = begin + l.n / l.chunk_count + (p < l.n % l.chunk_count ? 1 : 0);
    try {
      l.f(begin, end);
    } catch (...) {
      const std::lock_guard lock(l.mutex);
      if (!l.error) l.error = std::current_exception();
    }
  };
  ThreadPool::shared().run(chunk_count, run_chunk, &loop, {chunk_reads, 0});
  if (loop.error) std::rethrow_exception(loop.error);
}

}  // namespace tern
