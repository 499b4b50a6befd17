// The cancel flag of this thread's runs, and errors that keep their kind when a place is added.
#pragma once

#include <tern/cancel.h>

#include <atomic>
#include <string>

namespace tern {

/// Null outside any CancelScope.
const std::atomic<bool>* cancel_flag() noexcept;

/// Throws the error again, with the place before its message.
[[noreturn]] void fail_at(const std::string& place, const Error& e);

}  // namespace tern
