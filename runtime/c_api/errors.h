// Converts exceptions to status codes: no exception leaves the C interface.
#pragma once

#include <tern/c_api.h>

namespace tern::c_api {

/// Stores the message of the current exception and returns its status.
tern_status report() noexcept;

template <class F>
tern_status guarded(const F& f) noexcept {
  try {
    f();
    return TERN_OK;
  } catch (...) {
    return report();
  }
}

[[noreturn]] void refuse_null(const char* argument);

/// Throws if a required pointer is null.
inline void require_pointer(const void* pointer, const char* argument) {
  if (pointer == nullptr) refuse_null(argument);
}

}  // namespace tern::c_api
