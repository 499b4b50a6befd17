// Ctrl-C as a wish to stop after the step that runs.
#pragma once

namespace tern::train {

/// While it lives, the first SIGINT or SIGTERM is remembered; a second one ends the process. One that the process was
/// started to ignore, as by nohup, stays ignored. One at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// The signal that came; 0: none.
  int asked() const;
};

}  // namespace tern::train
