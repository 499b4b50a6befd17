// Ctrl-C as a wish to stop after the step that runs.
#pragma once

namespace tern::train {

/// While it lives, the first SIGINT or SIGTERM is remembered; a second one ends the process. One at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool asked() const;
};

}  // namespace tern::train
