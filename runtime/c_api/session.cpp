// Creates sessions and runs functions.
#include <cstddef>
#include <utility>
#include <vector>

#include "runtime/c_api/arrays.h"
#include "runtime/c_api/errors.h"
#include "runtime/c_api/handles.h"

using namespace tern;         // NOLINT: the functions below are C's
using namespace tern::c_api;  // NOLINT

namespace {

/// A run, cancellable by tern_session_cancel.
class Cancellable {
 public:
  explicit Cancellable(const tern_session& session) : scope_((session.token.reset(), session.token)) {}

 private:
  CancelScope scope_;
};

}  // namespace

extern "C" {

tern_status tern_session_create(const tern_prepared* prepared, tern_session** session) {
  return guarded([&] {
    require_pointer(prepared, "`prepared`");
    require_pointer(session, "`session`");
    *session = new tern_session{Session(prepared->prepared), nullptr, {}};
  });
}

void tern_session_free(tern_session* session) {
  delete session;
}

void tern_session_cancel(tern_session* session) {
  if (session != nullptr) session->token.cancel();
}

tern_status tern_session_run(tern_session* session, const char* function, const tern_array* inputs, size_t count) {
  return guarded([&] {
    require_pointer(session, "`session`");
    const std::vector<Tensor> in = tensors_of(inputs, count);
    const Cancellable run(*session);
    session->outputs = nullptr;
    session->outputs = function == nullptr ? &session->session.run(in) : &session->session.run(function, in);
  });
}

tern_status tern_session_run_named(tern_session* session, const char* function, const char* const* names,
                                   const tern_array* inputs, size_t count) {
  return guarded([&] {
    require_pointer(session, "`session`");
    if (count != 0) require_pointer(names, "`names`");
    const std::vector<Tensor> tensors = tensors_of(inputs, count);
    std::vector<NamedTensor> named;
    for (size_t i = 0; i < count; ++i) {
      require_pointer(names[i], "a name");
      named.push_back({names[i], tensors[i]});
    }
    const Cancellable run(*session);
    session->outputs = nullptr;
    session->outputs = function == nullptr ? &session->session.run(named) : &session->session.run(function, named);
  });
}

tern_status tern_session_run_into(tern_session* session, const char* function, const tern_array* inputs, size_t count,
                                  const tern_array* outputs, size_t output_count) {
  return guarded([&] {
    require_pointer(session, "`session`");
    const std::vector<Tensor> in = tensors_of(inputs, count);
    std::vector<Tensor> out = tensors_of(outputs, output_count);
    const Cancellable run(*session);
    session->outputs = nullptr;
    if (function == nullptr) {
      session->session.run_into(in, out);
    } else {
      session->session.run_into(function, in, out);
    }
    session->caller_outputs = std::move(out);
    session->outputs = &session->caller_outputs;
  });
}

}  // extern "C"
