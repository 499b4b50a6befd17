// Results of the last run of a session.
#include <tern/error.h>

#include <cstddef>
#include <string>

#include "runtime/c_api/arrays.h"
#include "runtime/c_api/errors.h"
#include "runtime/c_api/handles.h"

using namespace tern;         // NOLINT: the functions below are C's
using namespace tern::c_api;  // NOLINT

extern "C" {

size_t tern_session_output_count(const tern_session* session) {
  return session == nullptr || session->outputs == nullptr ? 0 : session->outputs->size();
}

tern_status tern_session_output(const tern_session* session, size_t index, tern_array* output) {
  return guarded([&] {
    require_pointer(session, "`session`");
    if (index >= tern_session_output_count(session))
      fail(ErrorCode::invalid_argument, "the last run has no output " + std::to_string(index));
    describe((*session->outputs)[index], output);
  });
}

tern_status tern_session_output_named(const tern_session* session, const char* name, tern_array* output) {
  return guarded([&] {
    require_pointer(session, "`session`");
    require_pointer(name, "`name`");
    if (session->outputs == nullptr) fail(ErrorCode::invalid_argument, "no run has succeeded yet");
    describe(session->session.output(name), output);
  });
}

}  // extern "C"
