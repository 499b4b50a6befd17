#include "runtime/weight_cache/background_jobs.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "platform/machine.h"
#include "platform/thread.h"
#include "threads/threads.h"

namespace tern {

struct BackgroundJobs::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> jobs;
  bool busy = false, ending = false;
  std::thread thread;

  void serve() {
    platform::lower_priority();  // if the system refuses, jobs have the priority of runs
    const ThreadScope alone(Threads(1));
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return ending || !jobs.empty(); });
      if (ending) return;
      std::function<void()> job = std::move(jobs.front());
      jobs.pop_front();
      busy = true;
      lock.unlock();
      try {
        job();
      } catch (...) {  // NOLINT(bugprone-empty-catch): nobody waits for the job
      }
      job = nullptr;  // releases the job's captures
      lock.lock();
      busy = false;
      changed.notify_all();
    }
  }
};

BackgroundJobs::BackgroundJobs() : state_(std::make_unique<State>()) {}

BackgroundJobs::~BackgroundJobs() {
  if (is_forked()) {
    // Mutex and thread belong to the parent process: waiting would never end.
    static_cast<void>(state_.release());
    return;
  }
  {
    const std::lock_guard lock(state_->mutex);
    state_->ending = true;
    state_->changed.notify_all();
  }
  if (state_->thread.joinable()) state_->thread.join();
}

void BackgroundJobs::add(std::function<void()> job) {
  if (is_forked()) return;
  const std::lock_guard lock(state_->mutex);
  if (!state_->thread.joinable()) {
    const platform::SignalsBlocked blocked;  // the application's threads handle signals
    try {
      state_->thread = std::thread([state = state_.get()] { state->serve(); });
    } catch (const std::system_error&) {
      return;
    }
    process_ = platform::process_number();
  }
  state_->jobs.push_back(std::move(job));
  state_->changed.notify_all();
}

void BackgroundJobs::wait() {
  if (is_forked()) return;
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->jobs.empty() && !state_->busy; });
}

bool BackgroundJobs::is_forked() const {
  return process_ != 0 && process_ != platform::process_number();
}

}  // namespace tern
