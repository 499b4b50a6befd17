// Messages not reported as errors to any caller.
#pragma once

#include <tern/log.h>

#include <string>

namespace tern {

void log_message(LogLevel level, const std::string& message) noexcept;

}  // namespace tern
