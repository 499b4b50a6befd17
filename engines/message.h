// Shared code of engines: converts exceptions to a status and a message.
#pragma once

#include <tern/engine.h>

#include <exception>
#include <memory>
#include <string>

/// Stringizes a macro's value.
#define TERN_TEXT_OF(x) #x
#define TERN_TEXT(x) TERN_TEXT_OF(x)

namespace tern_engine_impl {

inline std::string& message() {
  static thread_local std::string text;
  return text;
}

inline const char* last_message() {
  return message().c_str();
}

template <class Work>
tern_engine_status guarded(Work work) noexcept {
  try {
    return work();
  } catch (const std::exception& e) {
    message() = e.what();
  } catch (...) {
    message() = "an unknown exception";
  }
  return TERN_ENGINE_FAILED;
}

/// Implements tern_engine::destroy: exceptions of a group's destructor must not reach C.
template <class Group>
void destroy_group(Group* group) {
  guarded([&] {
    const std::unique_ptr<Group> owner(group);
    return TERN_ENGINE_OK;
  });
}

}  // namespace tern_engine_impl
