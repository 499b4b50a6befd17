#include "python/binding/interrupt.h"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <csignal>

namespace nb = nanobind;

namespace tern::python {
namespace {

// Flag of the main thread's run, and the previous handler. Set before the handler is installed.
std::atomic<std::atomic<bool>*> running_flag = nullptr;
struct sigaction outer_action;

void cancel_run(int number, siginfo_t* info, void* context) {
  if (std::atomic<bool>* flag = running_flag.load()) flag->store(true, std::memory_order_relaxed);
  if ((outer_action.sa_flags & SA_SIGINFO) != 0) {
    outer_action.sa_sigaction(number, info, context);
  } else if (outer_action.sa_handler != SIG_IGN && outer_action.sa_handler != SIG_DFL) {
    outer_action.sa_handler(number);
  }
}

/// False for the application's own handlers: their behaviour is unknown.
bool raises_keyboard_interrupt() {
  static const nb::handle module = nb::module_::import_("_signal").release();
  static const nb::handle raising = nb::object(module.attr("default_int_handler")).release();
  static const nb::handle getsignal = nb::object(module.attr("getsignal")).release();
  return nb::object(getsignal(SIGINT)).is(raising);
}

}  // namespace

Interruptible::Interruptible(const CancelToken& token)
    : active_(::getpid() == ::gettid() && running_flag.load() == nullptr && raises_keyboard_interrupt()) {
  if (!active_) return;
  running_flag = token.flag().get();
  struct sigaction action {};
  ::sigaction(SIGINT, nullptr, &outer_action);
  action = outer_action;
  action.sa_flags |= SA_SIGINFO;
  action.sa_sigaction = cancel_run;
  ::sigaction(SIGINT, &action, nullptr);
}

Interruptible::~Interruptible() {
  if (!active_) return;
  ::sigaction(SIGINT, &outer_action, nullptr);
  running_flag = nullptr;
}

void raise_interrupt() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace tern::python
