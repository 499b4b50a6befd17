// Error messages about a temporary file name the user's target file.
#pragma once

#include <tern/error.h>

#include <string>

namespace tern {

/// Returns act(). Its errors name `target` in place of `temporary`.
template <class Act>
auto report_target_name(const std::string& temporary, const std::string& target, Act act) {
  try {
    return act();
  } catch (const Error& e) {
    std::string message = e.what();
    for (std::size_t index = 0; (index = message.find(temporary, index)) != std::string::npos; index += target.size())
      message.replace(index, temporary.size(), target);
    throw Error(e.code(), message);
  }
}

}  // namespace tern
