// Handles Ctrl-C: the run stops after the current step.
#pragma once

namespace tern::train {

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

}  // namespace tern::train
