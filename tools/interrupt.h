// Handles Ctrl-C: a command ends at the next convenient time.
#pragma once

namespace tern {

/// Records the first SIGINT or SIGTERM during its lifetime; a second signal ends the process. Signals ignored at
/// process start (nohup) stay ignored. Only a single object at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// The received signal; 0: none.
  int asked() const;
};

/// Counts each SIGINT during its lifetime, for commands with interruptible parts. poll() then ends with EINTR; reads
/// and writes continue. SIGTERM still ends the process. Only a single object at a time.
class InterruptCount {
 public:
  InterruptCount();
  ~InterruptCount();
  InterruptCount(const InterruptCount&) = delete;
  InterruptCount& operator=(const InterruptCount&) = delete;

  int count() const;
};

}  // namespace tern
