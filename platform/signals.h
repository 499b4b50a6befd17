// Requests from outside to end, to interrupt or to report.
#pragma once

namespace tern::platform {

/// Records the first SIGINT or SIGTERM during its lifetime; a second signal ends the process. Signals ignored at
/// process start (nohup) stay ignored. Windows: Ctrl-C counts as SIGINT; a closed window, log-off and shutdown count as
/// SIGTERM. Only a single object at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// The received signal, SIGINT or SIGTERM of <csignal>; 0: none.
  int received_signal() const;
};

/// Counts each SIGINT (Ctrl-C) during its lifetime, for commands with interruptible parts. wait_for_input() then ends
/// (platform/console.h); reads and writes continue. SIGTERM still ends the process. Only a single object at a time.
class InterruptCount {
 public:
  InterruptCount();
  ~InterruptCount();
  InterruptCount(const InterruptCount&) = delete;
  InterruptCount& operator=(const InterruptCount&) = delete;

  int count() const;
};

/// Keeps SIGUSR2 (Ctrl-Break on Windows) from ending the process. Returns false if the application handles the signal
/// itself.
bool catch_report_signal();
/// Calls `report` on a thread of its own after each such signal, until the process ends. Later calls have no effect. A
/// forked child reports nothing.
void report_on_signal(void (*report)());

}  // namespace tern::platform
