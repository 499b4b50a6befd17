// The GIL around work without Python. When the interpreter ends, CPython before 3.14 ends every other thread requesting
// the GIL with pthread_exit, and neither C++ nor nanobind survives this unwinding. Such a thread waits for the process
// to end instead, like in 3.14.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

namespace tern::python {

/// Waits for ever when unwound before disarm().
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

/// Releases the GIL during its lifetime.
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

/// Calls `act` with the GIL, from any thread. No effect after the interpreter's end, when the system reclaims memory.
template <class Act>
void call_with_gil(Act act) {
  if (!Py_IsInitialized()) return;
  WaitForEnd wait;
  const PyGILState_STATE state = PyGILState_Ensure();
  wait.disarm();
  act();
  PyGILState_Release(state);
}

}  // namespace tern::python
