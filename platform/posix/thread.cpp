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

struct SignalsBlocked::Before {
  sigset_t signals;
};

SignalsBlocked::SignalsBlocked() : before_(std::make_unique<Before>()) {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before_->signals);
}

SignalsBlocked::~SignalsBlocked() {
  ::pthread_sigmask(SIG_SETMASK, &before_->signals, nullptr);
}

}  // namespace tern::platform
