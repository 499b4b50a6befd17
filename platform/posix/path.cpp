#include "platform/path.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace tern::platform {

std::filesystem::path path_of(std::string_view text) {
  return {text};
}

std::string text_of(const std::filesystem::path& path) {
  return path.string();
}

bool has_folder(std::string_view path) {
  return path.find('/') != std::string_view::npos;
}

std::string resolved_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real == nullptr ? std::string() : std::string(real.get());
}

std::vector<std::string> split_paths(std::string_view list) {
  std::vector<std::string> paths;
  while (!list.empty()) {
    const std::string_view path = list.substr(0, list.find(':'));
    list.remove_prefix(std::min(list.size(), path.size() + 1));
    if (!path.empty()) paths.emplace_back(path);
  }
  return paths;
}

}  // namespace tern::platform
