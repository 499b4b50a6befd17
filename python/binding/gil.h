// The GIL around work that needs none. When the interpreter ends, CPython before 3.14 ends every other thread that asks
// for the GIL by pthread_exit, whose unwinding neither C++ nor nanobind survives. Such a thread waits for the process
// to end instead, as it does in 3.14.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

namespace tern::python {

/// Waits for ever when it is unwound before disarm().
class WaitForEnd {
 public:
  WaitForEnd() = default;
  WaitForEnd(const WaitForEnd&) = delete;
  WaitForEnd& operator=(const WaitForEnd&) = delete;
  ~WaitForEnd() {
    while (armed_) ::pause();
  }
  void disarm() { armed_ = false; }

 private:
  volatile bool armed_ = true;
};

/// Releases the GIL while it lives.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;
  ~WithoutGil() noexcept(false) {
    WaitForEnd wait;
    PyEval_RestoreThread(state_);
    wait.disarm();
  }

 private:
  PyThreadState* state_;
};

/// Calls `act` with the GIL, from any thread. After the interpreter's end it does nothing: memory is the system's then.
template <class Act>
void with_gil(Act act) {
  if (!Py_IsInitialized()) return;
  WaitForEnd wait;
  const PyGILState_STATE state = PyGILState_Ensure();
  wait.disarm();
  act();
  PyGILState_Release(state);
}

}  // namespace tern::python
