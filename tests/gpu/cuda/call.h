// Common parts of every driver API function: the lock, counters, injected failures, error codes.
#pragma once

#include <utility>

#include "tests/gpu/cuda/header.h"
#include "tests/gpu/machine/machine.h"

namespace tern::emulator::cuda {

CUresult code_of(Status status);

// Reason for the last refusal on this thread.
const std::string& last_why();

// The driver's version: TERN_EMULATOR_DRIVER, or the header's.
int driver_version();

// Counts the call and decides if its body runs. Ends in finish().
class Call {
 public:
  // `since`: the first CUDA version with the function.
  Call(const char* name, int since);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // CUDA_SUCCESS, or why the body must not run.
  CUresult refused() const { return refused_; }
  CUresult finish(const Failure& failure) const;

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  const char* name_;
  const char* outer_;
  CUresult refused_ = CUDA_SUCCESS;
};

// Runs the body of an API function.
template <class Body>
CUresult call(const char* name, int since, Body&& body) {
  const Call call(name, since);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  try {
    std::forward<Body>(body)(Machine::get());
    return CUDA_SUCCESS;
  } catch (const Failure& failure) {
    return call.finish(failure);
  }
}

// Handles are numbers disguised as pointers.
template <class T>
uint64_t number(T* handle) {
  return reinterpret_cast<uint64_t>(handle);
}
template <class T>
T handle(uint64_t number) {
  return reinterpret_cast<T>(number);
}

// Refuses null in place of the address of a result or an array.
template <class T>
T& require(T* pointer, const char* what) {
  if (pointer == nullptr) refuse(Status::invalid_value, "%s is null", what);
  return *pointer;
}

inline void require(const void* pointer, const char* what) {
  if (pointer == nullptr) refuse(Status::invalid_value, "%s is null", what);
}

inline void need_zero(unsigned long long flags, const char* what) {
  if (flags != 0) refuse(Status::invalid_value, "%s is 0x%llx; it has to be zero", what, flags);
}

}  // namespace tern::emulator::cuda
