// Threads: numbers, priorities, processors, signals.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace tern::platform {

/// The system's number of this thread, as debuggers and profilers show it.
std::uint32_t thread_number();
/// Name of this thread; empty without a name.
std::string thread_name();
/// Names this thread: at most 15 bytes.
void set_thread_name(const char* name);
/// Lowers this thread's priority to that of background work, if the system allows.
void lower_priority();

/// Processor of this thread; -1 if unknown.
int current_processor();
/// Moves this thread to a processor other than `busy`, if the system allows. Schedulers wake a thread next to its waker
/// if other processors seem busy, as sleeping processors of virtual machines do.
void leave_processor(int busy);

/// Blocks signals on this thread, and on threads started during the object's life. Does nothing on Windows.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  struct SavedSignals;
  std::unique_ptr<SavedSignals> saved_signals_;
};

}  // namespace tern::platform
