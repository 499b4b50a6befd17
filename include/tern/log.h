// Destination of messages that no caller gets as an error, such as a flight record that cannot be written.
#pragma once

#include <tern/api.h>

#include <cstdint>

namespace tern {

enum class LogLevel : std::int32_t { warning = 1, error = 2 };

/// `level` is a LogLevel. `message` is one line without a newline, valid during the call. Any thread may call it,
/// several at once.
using LogFunction = void (*)(std::int32_t level, const char* message, void* user);

/// Gives all later messages of the process to `function`. Null: they go to stderr, as at first. `user` must live until
/// another function is set and calls under way have returned.
TERN_API void set_log(LogFunction function, void* user = nullptr) noexcept;

}  // namespace tern
