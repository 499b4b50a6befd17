// Destination of messages not delivered as an error, for example about a failed write of a flight record.
#pragma once

#include <tern/api.h>

#include <cstdint>

namespace tern {

enum class LogLevel : std::int32_t { warning = 1, error = 2 };

/// `level` is a LogLevel. `message` is a single line without a newline, valid during the call. Any thread may call the
/// function, several at once.
using LogFunction = void (*)(std::int32_t level, const char* message, void* user);

/// Sends all later messages of the process to `function`. Null: messages go to stderr (the default). `user` must live
/// until another function is set and pending calls have returned.
TERN_API void set_log(LogFunction function, void* user = nullptr) noexcept;

}  // namespace tern
