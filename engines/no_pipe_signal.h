// Suppresses SIGPIPE: writing to a closed connection then returns an error instead of ending the process.
#pragma once

#include <csignal>
#include <ctime>

namespace tern_engine_impl {

/// Blocks SIGPIPE for this thread during the object's life; threads started meanwhile keep SIGPIPE blocked forever.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &previous_mask_);
  }
  ~NoPipeSignal() {
    const timespec now{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{}, previous_mask_{};
  bool was_pending_ = false;
};

}  // namespace tern_engine_impl
