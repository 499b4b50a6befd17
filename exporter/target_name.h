// Error messages about a temporary file name the user's target file.
#pragma once

#include <tern/error.h>

#include <string>

namespace tern {

/// Returns act(). Its errors name `target` in place of `temporary`.
template <class Act>
auto with_target_name(const std::string& temporary, const std::string& target, Act act) {
  try {
    return act();
  } catch (const Error& e) {
    std::string message = e.what();
    for (std::size_t at = 0; (at = message.find(temporary, at)) != std::string::npos; at += target.size())
      message.replace(at, temporary.size(), target);
    throw Error(e.code(), message);
  }
}

}  // namespace tern
