// Background work: one low-priority thread runs jobs in order.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

namespace tern {

/// Thread-safe. The thread starts with the first job. After a fork, the child drops its jobs: the thread exists only in
/// the parent.
class BackgroundJobs {
 public:
  BackgroundJobs();
  /// Waits for the running job and drops jobs not started.
  ~BackgroundJobs();
  BackgroundJobs(const BackgroundJobs&) = delete;
  BackgroundJobs& operator=(const BackgroundJobs&) = delete;

  /// Ignores exceptions of a job. Drops the job if the system refuses a thread.
  void add(std::function<void()> job);
  /// Waits until all jobs are done.
  void wait();

 private:
  struct State;
  bool is_forked() const;

  std::unique_ptr<State> state_;
  std::atomic<long> process_{0};  ///< process of the thread; 0: not started
};

}  // namespace tern
