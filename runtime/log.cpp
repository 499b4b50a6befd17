#include "runtime/log.h"

#include <cstdio>
#include <mutex>

namespace tern {
namespace {

std::mutex log_mutex;  // guards both
LogFunction log_function = nullptr;
void* log_user = nullptr;

}  // namespace

void set_log(LogFunction function, void* user) noexcept {
  const std::lock_guard lock(log_mutex);
  log_function = function;
  log_user = user;
}

void log_message(LogLevel level, const std::string& message) noexcept {
  LogFunction function;
  void* user;
  {
    const std::lock_guard lock(log_mutex);
    function = log_function;
    user = log_user;
  }
  if (function != nullptr) return function(static_cast<std::int32_t>(level), message.c_str(), user);
  std::fprintf(stderr, "tern: %s\n", message.c_str());
}

}  // namespace tern
