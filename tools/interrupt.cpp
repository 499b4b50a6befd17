#include "tools/interrupt.h"

#include <array>
#include <csignal>

namespace tern {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM};
volatile std::sig_atomic_t signal_that_came = 0;
std::array<struct sigaction, kSignals.size()> before;

volatile std::sig_atomic_t interrupts = 0;
struct sigaction before_count;

void count_interrupt(int) {
  interrupts = interrupts + 1;
}

void remember(int signal) {
  signal_that_came = signal;
}

}  // namespace

Interrupt::Interrupt() {
  signal_that_came = 0;
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
}

Interrupt::~Interrupt() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before[i], nullptr);
}

int Interrupt::asked() const {
  return signal_that_came;
}

InterruptCount::InterruptCount() {
  interrupts = 0;
  struct sigaction action {};
  action.sa_handler = count_interrupt;
  action.sa_flags = SA_RESTART;  // writes of standard output must not fail
  ::sigaction(SIGINT, &action, &before_count);
}

InterruptCount::~InterruptCount() {
  ::sigaction(SIGINT, &before_count, nullptr);
}

int InterruptCount::count() const {
  return interrupts;
}

}  // namespace tern
