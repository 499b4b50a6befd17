// Environment variables and folders of the user.
#pragma once

#include <optional>
#include <string>

namespace tern::platform {

/// Value of an environment variable in UTF-8; empty if unset. Set-user-ID programs ignore their caller's variables.
std::optional<std::string> trusted_variable(const char* name);

/// Sets a variable of this process; null removes it. No other thread may read variables at this time.
void set_variable(const char* name, const char* value);

/// The user's folder for caches: $XDG_CACHE_HOME or ~/.cache, ~/Library/Caches on macOS, %LOCALAPPDATA% on Windows.
/// Empty if no such folder belongs to this process's user.
std::string user_cache_folder();

}  // namespace tern::platform
