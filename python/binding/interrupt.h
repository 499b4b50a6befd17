// Ctrl-C during a run.
#pragma once

#include <tern/cancel.h>

namespace tern::python {

/// While it lives, Ctrl-C cancels runs of the token, beside what it does otherwise. Only on the process's main thread,
/// and where Python's handler raises KeyboardInterrupt. Needs the GIL at both ends.
class Interruptible {
 public:
  explicit Interruptible(const CancelToken& token);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  bool active_;
};

/// Throws the KeyboardInterrupt that is due, if one is.
void raise_interrupt();

}  // namespace tern::python
