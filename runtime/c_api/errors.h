// Turns exceptions into status codes: none leaves the C interface.
#pragma once

#include <tern/c_api.h>

namespace tern::c_api {

/// Keeps the message of the exception that is being handled.
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

[[noreturn]] void refuse_null(const char* what);

/// Throws if a pointer is null that must not be.
inline void need(const void* pointer, const char* what) {
  if (pointer == nullptr) refuse_null(what);
}

}  // namespace tern::c_api
