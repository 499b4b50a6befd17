#include "runtime/c_api/errors.h"

#include <tern/c_api.h>
#include <tern/cancel.h>
#include <tern/error.h>
#include <tern/log.h>

#include <new>
#include <string>

static_assert(TERN_ERROR_INTERNAL == static_cast<int>(tern::ErrorCode::internal));

namespace tern::c_api {
namespace {

thread_local std::string last_error;  // NOLINT

}  // namespace

tern_status report() noexcept {
  const auto record = [](ErrorCode code, const char* message) noexcept {
    try {
      last_error = message;
    } catch (...) {
      last_error.clear();
    }
    return static_cast<tern_status>(code);
  };
  try {
    throw;
  } catch (const Cancelled& e) {
    record(e.code(), e.what());
    return TERN_ERROR_CANCELLED;
  } catch (const Error& e) {
    return record(e.code(), e.what());
  } catch (const std::bad_alloc&) {
    return record(ErrorCode::out_of_memory, "out of memory");
  } catch (const std::exception& e) {
    return record(ErrorCode::internal, e.what());
  } catch (...) {
    return record(ErrorCode::internal, "an unknown exception");
  }
}

}  // namespace tern::c_api

void tern_set_log(tern_log_function function, void* user) {
  tern::set_log(function, user);
}

namespace tern::c_api {

void refuse_null(const char* argument) {
  fail(ErrorCode::invalid_argument, std::string(argument) + " is NULL");
}

}  // namespace tern::c_api

extern "C" const char* tern_last_error(void) {
  return tern::c_api::last_error.c_str();
}
