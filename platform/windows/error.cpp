#include "platform/error.h"

#include "platform/windows/system.h"

namespace tern::platform {

int last_error() {
  return static_cast<int>(::GetLastError());
}

std::string error_text(int error) {
  wchar_t* text = nullptr;
  const DWORD size =
      ::FormatMessageW(FORMAT_MESSAGE_ALLOCATE_BUFFER | FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS,
                       nullptr, static_cast<DWORD>(error), 0, reinterpret_cast<wchar_t*>(&text), 0, nullptr);
  std::string result = narrow({text, size});
  ::LocalFree(text);
  while (!result.empty() && (result.back() == '\n' || result.back() == '\r' || result.back() == '.')) result.pop_back();
  return result.empty() ? "error " + std::to_string(error) : result;
}

bool is_missing(int error) {
  return error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND;
}

bool is_existing(int error) {
  return error == ERROR_FILE_EXISTS || error == ERROR_ALREADY_EXISTS;
}

bool is_symbolic_link(int error) {
  return error == ERROR_STOPPED_ON_SYMLINK;
}

}  // namespace tern::platform
