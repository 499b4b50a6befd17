#include "threads/thread_pool.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "threads/loop_recorder.h"
#include "threads/threads.h"

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

namespace tern {
namespace {

constexpr std::size_t kSlots = 16;  // concurrent callers; further callers work alone
constexpr std::int64_t kMostThreads = 255;
constexpr int kSpins = 1000;  // spins of a caller (about 50 microseconds) before yielding the processor
constexpr int kIdleSpins =
    20000;  // spins of a thread (about a millisecond) before sleeping: nodes and runs follow each other closely

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

long process() {
#if defined(__unix__) || defined(__APPLE__)
  return static_cast<long>(getpid());
#else
  return 0;
#endif
}

int processor() {
#if defined(__linux__)
  return sched_getcpu();
#else
  return -1;
#endif
}

/// Moves this thread to a processor other than `busy`. Schedulers wake a thread next to its waker if other processors
/// seem busy, as sleeping processors of virtual machines do.
void leave(int busy) {
#if defined(__linux__)
  cpu_set_t all, others;
  if (busy < 0 || busy >= CPU_SETSIZE || processor() != busy || sched_getaffinity(0, sizeof all, &all) != 0) return;
  others = all;
  CPU_CLR(static_cast<std::size_t>(busy), &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
  sched_setaffinity(0, sizeof all, &all);
#else
  static_cast<void>(busy);
#endif
}

/// Pauses briefly; yields the processor after many pauses.
class Patience {
 public:
  void wait() {
    if (++waited_ < kSpins) {
      pause();
    } else {
      std::this_thread::yield();
    }
  }

 private:
  int waited_ = 0;
};

struct Job {
  ThreadPool::Part part;
  void* context;
  std::int64_t parts;
  int processor;  ///< processor of the caller
  std::atomic<std::int64_t> next{0}, done{0};

  void work() {
    for (;;) {
      const std::int64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= parts) return;
      part(context, i);
      done.fetch_add(1, std::memory_order_release);
    }
  }
};

/// A job open to other threads. Its owner withdraws the job, then waits until no thread looks at the slot.
struct alignas(64) Slot {
  std::atomic<Job*> job{nullptr};
  std::atomic<int> users{0};
};

/// Thread count inside a part of parallel work, for nested loops and OpenMP libraries.
constexpr Threads kOne(1);

}  // namespace

struct ThreadPool::State {
  std::array<Slot, kSlots> slots;
  std::atomic<std::uint32_t> posted{0};  ///< incremented with each job
  std::atomic<int> sleeping{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;  ///< over threads
  std::vector<std::thread> threads;
  std::atomic<std::int64_t> count{0};
  long owner = process();

  void work() {
    const ThreadScope one(kOne);
    std::uint32_t seen = 0;
    bool slept = true;
    for (;;) {
      for (Slot& s : slots) {
        if (s.job.load(std::memory_order_relaxed) == nullptr) continue;
        s.users.fetch_add(1);
        if (Job* job = s.job.load()) {
          if (std::exchange(slept, false)) leave(job->processor);
          job->work();
        }
        s.users.fetch_sub(1);
      }
      for (int i = 0; i < kIdleSpins && posted.load(std::memory_order_acquire) == seen; ++i) pause();
      if (stop.load()) return;
      if (posted.load(std::memory_order_acquire) == seen) {
        sleeping.fetch_add(1);
        posted.wait(seen);
        sleeping.fetch_sub(1);
        slept = true;
        if (stop.load()) return;
      }
      seen = posted.load(std::memory_order_acquire);
    }
  }

  /// Starts the wanted number of threads, or as many as the system allows: fewer threads suffice for correctness.
  void start(std::int64_t wanted) {
    const std::lock_guard lock(mutex);
    while (static_cast<std::int64_t>(threads.size()) < wanted) {
      try {
        threads.emplace_back([this] { work(); });
      } catch (const std::system_error&) {
        break;
      }
    }
    count.store(wanted);
  }

  Slot* post(Job& job) {
    for (Slot& s : slots) {
      Job* none = nullptr;
      if (!s.job.compare_exchange_strong(none, &job)) continue;
      posted.fetch_add(1);
      if (const int asleep = sleeping.load(); asleep >= job.parts) {
        for (std::int64_t i = 1; i < job.parts; ++i) posted.notify_one();
      } else if (asleep > 0) {
        posted.notify_all();  // a single system call wakes all threads
      }
      return &s;
    }
    return nullptr;
  }
};

ThreadPool::ThreadPool() : state_(new State) {}

ThreadPool::~ThreadPool() {
  if (process() != state_->owner) return;  // a forked process has no pool threads
  state_->stop.store(true);
  state_->posted.fetch_add(1);
  state_->posted.notify_all();
  for (std::thread& t : state_->threads) t.join();
  delete state_;
}

ThreadPool& ThreadPool::shared() {
  static ThreadPool pool;
  return pool;
}

void ThreadPool::run(std::int64_t parts, Part part, void* context, Note note) {
  if (LoopRecorder* recorder = LoopRecorder::current()) return recorder->run(parts, part, context, note);
  const std::int64_t wanted = std::min(parts - 1, kMostThreads);
  if (state_->count.load(std::memory_order_relaxed) < wanted) state_->start(wanted);
  Job job{part, context, parts, processor()};
  Slot* slot = state_->post(job);
  {
    const ThreadScope one(kOne);
    job.work();
  }
  for (Patience p; job.done.load(std::memory_order_acquire) < parts;) p.wait();
  if (slot == nullptr) return;
  slot->job.store(nullptr);
  for (Patience p; slot->users.load() != 0;) p.wait();
}

}  // namespace tern
