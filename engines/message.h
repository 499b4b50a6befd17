// What an engine's functions share: exceptions become a status and a message.
#pragma once

#include <tern/engine.h>

#include <exception>
#include <string>

namespace tern_engine_impl {

inline std::string& message() {
  static thread_local std::string text;
  return text;
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

}  // namespace tern_engine_impl
