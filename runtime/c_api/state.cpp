// Mutable state and seed of a session.
#include <tern/error.h>

#include <string>

#include "runtime/c_api/arrays.h"
#include "runtime/c_api/errors.h"
#include "runtime/c_api/handles.h"
#include "runtime/tensor_view.h"

using namespace tern;         // NOLINT: the functions below are C's
using namespace tern::c_api;  // NOLINT

extern "C" {

tern_status tern_session_read_state(const tern_session* session, const char* name, const tern_array* value) {
  return guarded([&] {
    require_pointer(session, "`session`");
    require_pointer(name, "`name`");
    require_pointer(value, "`value`");
    const Tensor to = tensor_of(*value), from = session->session.read_state(name);
    if (to.read_only() || to.dtype() != from.dtype() || to.sizes() != from.sizes())
      fail(ErrorCode::invalid_argument, "state '" + std::string(name) + "' is " + text_of(from) +
                                            ", but the memory given for it is " + (to.read_only() ? "read-only " : "") +
                                            text_of(to));
    to.copy_from(from);
  });
}

tern_status tern_session_write_state(tern_session* session, const char* name, const tern_array* value) {
  return guarded([&] {
    require_pointer(session, "`session`");
    require_pointer(name, "`name`");
    require_pointer(value, "`value`");
    session->session.write_state(name, tensor_of(*value));
  });
}

tern_status tern_session_reset_state(tern_session* session) {
  return guarded([&] {
    require_pointer(session, "`session`");
    session->session.reset_state();
  });
}

tern_status tern_session_set_seed(tern_session* session, uint64_t seed) {
  return guarded([&] {
    require_pointer(session, "`session`");
    session->session.set_seed(seed);
  });
}

}  // extern "C"
