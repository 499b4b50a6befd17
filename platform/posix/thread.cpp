#include "platform/thread.h"

#include <pthread.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): <csignal> has no pthread_sigmask

#include <array>

namespace tern::platform {

std::string thread_name() {
  std::array<char, 64> name{};
  ::pthread_getname_np(::pthread_self(), name.data(), name.size());
  return name.data();
}

struct SignalsBlocked::SavedSignals {
  sigset_t signals;
};

SignalsBlocked::SignalsBlocked() : saved_signals_(std::make_unique<SavedSignals>()) {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &saved_signals_->signals);
}

SignalsBlocked::~SignalsBlocked() {
  ::pthread_sigmask(SIG_SETMASK, &saved_signals_->signals, nullptr);
}

}  // namespace tern::platform
