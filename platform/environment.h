// Environment variables and folders of the user.
#pragma once

#include <optional>
#include <string>

namespace tern::platform {

/// Value of an environment variable in UTF-8; empty if unset. Set-user-ID programs ignore their caller's variables.
std::optional<std::string> trusted_variable(const char* name);

/// Value of a switch: false for "0", `unset` for an unset or empty variable, else true.
inline bool variable_is_on(const char* name, bool unset) {
  const std::string value = trusted_variable(name).value_or("");
  return value.empty() ? unset : value != "0";
}

/// Sets a variable of this process; null removes it. No other thread may read variables at this time.
void set_variable(const char* name, const char* value);

/// The user's folder for caches: $XDG_CACHE_HOME or ~/.cache, ~/Library/Caches on macOS, %LOCALAPPDATA% on Windows.
/// Empty if no such folder belongs to this process's user.
std::string user_cache_folder();

}  // namespace tern::platform
