// Cancel flag of this thread's runs, and errors rethrown with a location prefix.
#pragma once

#include <tern/cancel.h>

#include <atomic>
#include <string>

namespace tern {

/// Null outside any CancelScope.
const std::atomic<bool>* cancel_flag() noexcept;

/// Rethrows the error with the same kind and `place` before its message.
[[noreturn]] void fail_at(const std::string& place, const Error& e);

}  // namespace tern
