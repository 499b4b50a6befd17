// Work that nobody waits for: one thread of low priority, which does one job after another.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>

namespace tern {

/// May be used by many threads. The thread starts with the first job. A process that forks leaves it behind: the
/// child drops its jobs.
class BackgroundJobs {
 public:
  BackgroundJobs();
  /// Waits for the job that runs, and drops those that have not begun.
  ~BackgroundJobs();
  BackgroundJobs(const BackgroundJobs&) = delete;
  BackgroundJobs& operator=(const BackgroundJobs&) = delete;

  /// Exceptions of a job are dropped. So is the job if the system has no thread for it.
  void add(std::function<void()> job);
  /// Waits until all jobs are done.
  void wait();

 private:
  struct State;
  bool is_forked() const;

  std::unique_ptr<State> state_;
  std::atomic<pid_t> process_{0};  ///< that the thread belongs to; 0: it has not started
};

}  // namespace tern
