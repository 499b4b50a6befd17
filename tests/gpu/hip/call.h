// Entry of each HIP API function into the machine, and its result.
#ifndef TERN_TESTS_GPU_HIP_CALL_H
#define TERN_TESTS_GPU_HIP_CALL_H

#include <hip/hip_runtime_api.h>

#include <cstdint>
#include <mutex>

#include "tests/gpu/machine/machine.h"

namespace tern::gpu::hip {

using emulator::Machine;
using emulator::refuse;
using emulator::Status;

hipError_t to_error(Status status);
// Reason for the last refusal on this thread.
const std::string& last_why();

// The running call of this thread.
class Call {
 public:
  Call(const char* name, Machine& machine);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  bool fails() const { return fails_; }  // failure requested by a test
  hipError_t refused(Status status, const std::string& why);

 private:
  const char* name_;
  Machine& machine_;
  std::scoped_lock<std::recursive_mutex> lock_;
  bool fails_;
};

void initialize(Machine& machine);

// Runs `work(machine)` and converts its refusal to an error. "Most HIP APIs implicitly initialize the HIP runtime"
// (hipInit). `injected` is the error of an injected failure.
template <class Work>
hipError_t call(const char* name, Status injected, const Work& work) {
  Machine& machine = Machine::get();
  Call now(name, machine);
  try {
    if (now.fails()) refuse(injected, "TERN_EMULATOR_FAIL or tern_emulator_fail asks for it");
    if (!machine.initialized()) initialize(machine);
    work(machine);
    return hipSuccess;
  } catch (const emulator::Failure& failure) {
    return now.refused(failure.status, failure.why);
  }
}
template <class Work>
hipError_t call(const char* name, const Work& work) {
  return call(name, Status::unknown, work);
}

// The context of the thread's device: "the default device is 0" (hipSetDevice).
std::shared_ptr<emulator::Context> context(Machine& machine);
int device();
void set_device(int device);

// "hipErrorInvalidValue: One or more of the parameters passed to the API call is NULL or not in an acceptable range."
template <class T>
T* required(T* pointer, const char* name) {
  if (pointer == nullptr) refuse(Status::invalid_value, "%s is NULL", name);
  return pointer;
}
void no_flags(std::uint64_t flags);

template <class Pointer>
std::uint64_t handle(Pointer* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}
template <class Pointer>
Pointer pointer(std::uint64_t handle) {
  return reinterpret_cast<Pointer>(static_cast<std::uintptr_t>(handle));
}

// All work of all streams is done when this returns (streams.cpp).
void finish_all(Machine& machine);

}  // namespace tern::gpu::hip

#endif
