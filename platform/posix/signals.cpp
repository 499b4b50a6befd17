#include "platform/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <thread>

#include "platform/posix/pipe.h"

namespace tern::platform {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM};
volatile std::sig_atomic_t signal_that_came = 0;
std::array<struct sigaction, kSignals.size()> saved_actions;

volatile std::sig_atomic_t interrupts = 0;
struct sigaction saved_count_action;

void count_interrupt(int) {
  interrupts = interrupts + 1;
}

void remember(int signal) {
  signal_that_came = signal;
}

/// The signal handler only writes to this pipe, because handlers may not lock or allocate. A thread reads the other
/// end. The pipe does not exist before report_on_signal().
int signal_pipe = -1;    // NOLINT: handlers reach nothing else
pid_t signal_owner = 0;  // NOLINT: a child has the handler and the pipe too, and reports nothing
void handle_report_signal(int) {
  if (signal_pipe < 0 || ::getpid() != signal_owner) return;
  const int error = errno;  // errno of the interrupted code
  const char byte = 0;
  [[maybe_unused]] const ssize_t count = ::write(signal_pipe, &byte, 1);
  errno = error;
}

}  // namespace

Interrupt::Interrupt() {
  signal_that_came = 0;
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &saved_actions[i]);
    if (saved_actions[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
}

Interrupt::~Interrupt() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &saved_actions[i], nullptr);
}

int Interrupt::received_signal() const {
  return signal_that_came;
}

InterruptCount::InterruptCount() {
  interrupts = 0;
  struct sigaction action {};
  action.sa_handler = count_interrupt;
  action.sa_flags = SA_RESTART;  // writes of standard output must not fail
  ::sigaction(SIGINT, &action, &saved_count_action);
}

InterruptCount::~InterruptCount() {
  ::sigaction(SIGINT, &saved_count_action, nullptr);
}

int InterruptCount::count() const {
  return interrupts;
}

bool catch_report_signal() {
  struct sigaction old {};
  if (::sigaction(SIGUSR2, nullptr, &old) != 0) return false;
  if (old.sa_handler == handle_report_signal) return true;
  if (old.sa_handler != SIG_DFL) return false;
  struct sigaction action {};
  action.sa_handler = handle_report_signal;
  action.sa_flags = SA_RESTART;
  return ::sigaction(SIGUSR2, &action, nullptr) == 0;
}

void report_on_signal(void (*report)()) {
  int ends[2];
  if (signal_pipe >= 0 || !catch_report_signal() || !make_pipe(ends)) return;
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);  // a full pipe already holds enough signals
  signal_owner = ::getpid();
  signal_pipe = ends[1];
  std::thread([from = ends[0], report] {
    char byte = 0;
    while (::read(from, &byte, 1) > 0 || errno == EINTR) report();
  }).detach();
}

}  // namespace tern::platform
