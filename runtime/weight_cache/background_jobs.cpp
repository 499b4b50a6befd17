#include "runtime/weight_cache/background_jobs.h"

#include <pthread.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): <csignal> has no pthread_sigmask
#include <sys/resource.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "threads/threads.h"

namespace tern {
namespace {

constexpr int kNice = 15;

/// Blocks signals on the job thread: the application's threads handle signals.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

struct BackgroundJobs::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> jobs;
  bool busy = false, ending = false;
  std::thread thread;

  void serve() {
    // Linux keeps priorities per thread. If the system refuses, jobs have the priority of runs.
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
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
    const SignalsBlocked blocked;
    try {
      state_->thread = std::thread([state = state_.get()] { state->serve(); });
    } catch (const std::system_error&) {
      return;
    }
    process_ = ::getpid();
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
  return process_ != 0 && process_ != ::getpid();
}

}  // namespace tern
