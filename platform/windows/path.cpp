#include "platform/path.h"

#include <algorithm>

#include "platform/windows/system.h"

namespace tern::platform {

std::filesystem::path path_of(std::string_view text) {
  return {wide_path(text)};
}

std::string text_of(const std::filesystem::path& path) {
  return narrow(strip_prefix(path.native()));
}

bool has_folder(std::string_view path) {
  return path.find_first_of("/\\:") != std::string_view::npos;
}

std::string resolved_path(const std::string& path) {
  const File file = open_shared(wide_path(path), 0, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
  if (!file.is_open()) return {};
  const DWORD size = ::GetFinalPathNameByHandleW(handle_of(file), nullptr, 0, FILE_NAME_NORMALIZED);
  std::wstring name(size, L'\0');
  name.resize(::GetFinalPathNameByHandleW(handle_of(file), name.data(), size, FILE_NAME_NORMALIZED));
  // File systems may lack names of handles, and Wine lacks long ones.
  if (name.empty()) return text_of(std::filesystem::absolute(path_of(path)));
  return narrow(strip_prefix(name));
}

std::vector<std::string> split_paths(std::string_view list) {
  std::vector<std::string> paths;
  while (!list.empty()) {
    const std::string_view path = list.substr(0, list.find(';'));
    list.remove_prefix(std::min(list.size(), path.size() + 1));
    if (!path.empty()) paths.emplace_back(path);
  }
  return paths;
}

}  // namespace tern::platform
