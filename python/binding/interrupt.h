// Ctrl-C during a run.
#pragma once

#include <tern/cancel.h>

namespace tern::python {

/// During its lifetime, Ctrl-C also cancels runs of the token. Only on the process's main thread, and with Python's
/// handler raising KeyboardInterrupt. Construction and destruction need the GIL.
class Interruptible {
 public:
  explicit Interruptible(const CancelToken& token);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  bool active_;
};

/// Throws a pending KeyboardInterrupt.
void raise_interrupt();

}  // namespace tern::python
