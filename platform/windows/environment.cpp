#include "platform/environment.h"

#include <cstdlib>

#include "platform/path.h"
#include "platform/windows/system.h"

namespace tern::platform {

std::optional<std::string> trusted_variable(const char* name) {
  const std::wstring key = wide(name);
  std::wstring value;
  for (DWORD size = 256;;) {
    value.resize(size);
    ::SetLastError(ERROR_SUCCESS);
    size = ::GetEnvironmentVariableW(key.c_str(), value.data(), static_cast<DWORD>(value.size()));
    if (size == 0 && ::GetLastError() == ERROR_ENVVAR_NOT_FOUND) return {};
    if (size < value.size()) return narrow({value.data(), size});
  }
}

void set_variable(const char* name, const char* value) {
  ::_wputenv_s(wide(name).c_str(), value == nullptr ? L"" : wide(value).c_str());
}

std::string user_cache_folder() {
  const std::string folder = trusted_variable("LOCALAPPDATA").value_or("");
  return path_of(folder).is_absolute() ? folder : std::string();
}

}  // namespace tern::platform
