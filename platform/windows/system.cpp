#include "platform/windows/system.h"

namespace tern::platform {

std::wstring wide(std::string_view text) {
  const int size = static_cast<int>(text.size());
  std::wstring result(static_cast<std::size_t>(::MultiByteToWideChar(CP_UTF8, 0, text.data(), size, nullptr, 0)),
                      L'\0');
  ::MultiByteToWideChar(CP_UTF8, 0, text.data(), size, result.data(), static_cast<int>(result.size()));
  return result;
}

std::string narrow(std::wstring_view text) {
  const int size = static_cast<int>(text.size());
  std::string result(
      static_cast<std::size_t>(::WideCharToMultiByte(CP_UTF8, 0, text.data(), size, nullptr, 0, nullptr, nullptr)),
      '\0');
  ::WideCharToMultiByte(CP_UTF8, 0, text.data(), size, result.data(), static_cast<int>(result.size()), nullptr,
                        nullptr);
  return result;
}

std::wstring wide_path(std::string_view path) {
  constexpr std::size_t kLongestPlain = 240;  // MAX_PATH less the room that calls for folders leave for a file name
  std::wstring text = wide(path);
  if (text.empty() || text.starts_with(L"\\\\?\\") || text.starts_with(L"\\\\.\\")) return text;
  const DWORD size = ::GetFullPathNameW(text.c_str(), 0, nullptr, nullptr);
  std::wstring full(size, L'\0');
  full.resize(::GetFullPathNameW(text.c_str(), size, full.data(), nullptr));
  if (full.size() < kLongestPlain) return text;
  if (full.starts_with(L"\\\\")) return L"\\\\?\\UNC" + full.substr(1);
  return L"\\\\?\\" + full;
}

std::wstring strip_prefix(std::wstring path) {
  if (path.starts_with(L"\\\\?\\UNC\\")) return L"\\" + path.substr(7);
  return path.starts_with(L"\\\\?\\") ? path.substr(4) : path;
}

File open_shared(const std::wstring& path, DWORD access, DWORD disposition, DWORD flags, DWORD share) {
  return File(reinterpret_cast<File::Handle>(
      ::CreateFileW(path.c_str(), access, share, nullptr, disposition, FILE_ATTRIBUTE_NORMAL | flags, nullptr)));
}

}  // namespace tern::platform
