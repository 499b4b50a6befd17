#include "platform/signals.h"

#include <atomic>
#include <csignal>

#include "platform/windows/system.h"

namespace tern::platform {
namespace {

std::atomic<int> signal_that_came{0};
std::atomic<int> interrupts{0};
std::atomic<void (*)()> reporter{nullptr};
std::atomic<bool> catches_reports{false};

// Windows calls these on threads of their own. TRUE: the request has been handled.

BOOL WINAPI remember(DWORD request) {
  if (request == CTRL_BREAK_EVENT) return FALSE;
  int none = 0;
  const bool is_first = signal_that_came.compare_exchange_strong(none, request == CTRL_C_EVENT ? SIGINT : SIGTERM);
  if (!is_first) return FALSE;
  // Windows ends the process once this function returns: gives the command time to end by itself.
  constexpr DWORD kLongest = 5000;
  if (request != CTRL_C_EVENT) ::Sleep(kLongest);
  return TRUE;
}

BOOL WINAPI count_interrupt(DWORD request) {
  if (request != CTRL_C_EVENT) return FALSE;
  ++interrupts;
  return TRUE;
}

BOOL WINAPI handle_break(DWORD request) {
  if (request != CTRL_BREAK_EVENT) return FALSE;
  if (void (*const report)() = reporter.load()) report();
  return TRUE;
}

}  // namespace

Interrupt::Interrupt() {
  signal_that_came = 0;
  ::SetConsoleCtrlHandler(remember, TRUE);
}

Interrupt::~Interrupt() {
  ::SetConsoleCtrlHandler(remember, FALSE);
}

int Interrupt::received_signal() const {
  return signal_that_came;
}

InterruptCount::InterruptCount() {
  interrupts = 0;
  ::SetConsoleCtrlHandler(count_interrupt, TRUE);
}

InterruptCount::~InterruptCount() {
  ::SetConsoleCtrlHandler(count_interrupt, FALSE);
}

int InterruptCount::count() const {
  return interrupts;
}

bool catch_report_signal() {
  if (catches_reports.exchange(true)) return true;
  return ::SetConsoleCtrlHandler(handle_break, TRUE) != 0;
}

void report_on_signal(void (*report)()) {
  void (*none)() = nullptr;
  if (catch_report_signal()) reporter.compare_exchange_strong(none, report);
}

}  // namespace tern::platform
