#include "threads/thread_pool.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "platform/machine.h"
#include "platform/thread.h"
#include "threads/loop_recorder.h"
#include "threads/threads.h"

namespace tern {
namespace {

constexpr std::size_t kSlots = 16;  // concurrent callers; further callers work alone
constexpr std::int64_t kMaxThreads = 255;
constexpr int kSpins = 1000;  // spins of a caller (about 50 microseconds) before yielding the processor
constexpr int kIdleSpins =
    20000;  // spins of a thread (about a millisecond) before sleeping: nodes and runs follow each other closely

void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Pauses briefly; yields the processor after many pauses.
class Patience {
 public:
  void wait() {
    if (++waited_ < kSpins) {
      spin_pause();
    } else {
      std::this_thread::yield();
    }
  }

 private:
  int waited_ = 0;
};

struct Job {
  ThreadPool::ChunkFunction run_chunk;
  void* context;
  std::int64_t chunk_count;
  int processor;                                   ///< processor of the caller
  std::atomic<std::int64_t> next{0}, finished{0};  ///< first chunk not yet begun; number of finished chunks

  void run_chunks() {
    for (;;) {
      const std::int64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= chunk_count) return;
      run_chunk(context, i);
      finished.fetch_add(1, std::memory_order_release);
    }
  }
};

/// A job open to other threads. Its owner withdraws the job, then waits until `users` is 0.
struct alignas(64) Slot {
  std::atomic<Job*> job{nullptr};
  std::atomic<int> users{0};  ///< threads that read `job` or work on it
};

/// Thread count inside a chunk of parallel work, for nested loops and OpenMP libraries.
constexpr Threads kSingleThread(1);

}  // namespace

struct ThreadPool::State {
  std::array<Slot, kSlots> slots;
  std::atomic<std::uint32_t> post_count{0};  ///< jobs posted so far, modulo 2^32; idle threads wait on it
  std::atomic<int> sleeper_count{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;  ///< guards `threads`
  std::vector<std::thread> threads;
  std::atomic<std::int64_t> count{0};  ///< largest number of threads requested so far
  long owner = platform::process_number();

  /// Loop of a pool thread: works on posted jobs, spins for a while without any, then sleeps.
  void run_worker() {
    const ThreadScope single_thread(kSingleThread);
    std::uint32_t seen_posts = 0;
    bool just_woke = true;
    for (;;) {
      for (Slot& s : slots) {
        if (s.job.load(std::memory_order_relaxed) == nullptr) continue;
        s.users.fetch_add(1);
        if (Job* job = s.job.load()) {
          if (std::exchange(just_woke, false)) platform::leave_processor(job->processor);
          job->run_chunks();
        }
        s.users.fetch_sub(1);
      }
      for (int i = 0; i < kIdleSpins && post_count.load(std::memory_order_acquire) == seen_posts; ++i) spin_pause();
      if (stop.load()) return;
      if (post_count.load(std::memory_order_acquire) == seen_posts) {
        sleeper_count.fetch_add(1);
        post_count.wait(seen_posts);
        sleeper_count.fetch_sub(1);
        just_woke = true;
        if (stop.load()) return;
      }
      seen_posts = post_count.load(std::memory_order_acquire);
    }
  }

  /// Starts the wanted number of threads, or as many as the system allows: fewer threads suffice for correctness.
  void start(std::int64_t wanted_threads) {
    const std::lock_guard lock(mutex);
    while (static_cast<std::int64_t>(threads.size()) < wanted_threads) {
      try {
        threads.emplace_back([this] { run_worker(); });
      } catch (const std::system_error&) {
        break;
      }
    }
    count.store(wanted_threads);
  }

  /// Publishes the job and wakes threads; null if all slots are in use.
  Slot* post(Job& job) {
    for (Slot& s : slots) {
      Job* empty = nullptr;
      if (!s.job.compare_exchange_strong(empty, &job)) continue;
      post_count.fetch_add(1);
      if (const int sleepers = sleeper_count.load(); sleepers >= job.chunk_count) {
        for (std::int64_t i = 1; i < job.chunk_count; ++i) post_count.notify_one();
      } else if (sleepers > 0) {
        post_count.notify_all();  // a single system call wakes all threads
      }
      return &s;
    }
    return nullptr;
  }
};

ThreadPool::ThreadPool() : state_(new State) {}

ThreadPool::~ThreadPool() {
  if (platform::process_number() != state_->owner) return;  // a forked process has no pool threads
  state_->stop.store(true);
  state_->post_count.fetch_add(1);
  state_->post_count.notify_all();
  for (std::thread& t : state_->threads) t.join();
  delete state_;
}

ThreadPool& ThreadPool::shared() {
  static ThreadPool pool;
  return pool;
}

void ThreadPool::run(std::int64_t chunk_count, ChunkFunction run_chunk, void* context, Note note) {
  if (LoopRecorder* recorder = LoopRecorder::current()) return recorder->run(chunk_count, run_chunk, context, note);
  const std::int64_t thread_count = std::min(chunk_count - 1, kMaxThreads);
  if (state_->count.load(std::memory_order_relaxed) < thread_count) state_->start(thread_count);
  Job job{run_chunk, context, chunk_count, platform::current_processor()};
  Slot* slot = state_->post(job);
  {
    const ThreadScope single_thread(kSingleThread);
    job.run_chunks();
  }
  for (Patience p; job.finished.load(std::memory_order_acquire) < chunk_count;) p.wait();
  if (slot == nullptr) return;
  slot->job.store(nullptr);
  for (Patience p; slot->users.load() != 0;) p.wait();
}

}  // namespace tern
