#include "runtime/devices/plugin/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "runtime/own_folders.h"

namespace tern {
namespace {

namespace fs = std::filesystem;

/// What a plugin of this version has to have: everything up to its last required function.
constexpr std::size_t kLeastSize = offsetof(tern_device_plugin, get_extension) + sizeof(void*);

std::string why_not(const tern_device_plugin* t) {
  if (t == nullptr) return "tern_device_library returned nothing";
  if (t->abi != TERN_DEVICE_ABI) {
    return fmt::format("it was made for version {} of tern/device.h, this Tern has {}: compile it anew", t->abi,
                       TERN_DEVICE_ABI);
  }
  if (t->size < kLeastSize)
    return fmt::format("its table has {} bytes, less than {}: compile it anew", t->size, kLeastSize);
  // All members after the name are functions, and all are required.
  const auto* functions = reinterpret_cast<void* const*>(&t->last_message);
  const auto* end = reinterpret_cast<void* const*>(reinterpret_cast<const char*>(t) + kLeastSize);
  if (std::any_of(functions, end, [](const void* f) { return f == nullptr; })) return "a required function is missing";
  const std::string_view name = t->name == nullptr ? "" : t->name;
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (name.empty() || name == "cpu" || !std::ranges::all_of(name, plain))
    return "the name of its devices must be of lower case letters and digits, and not 'cpu'";
  return {};
}

Plugin load(const std::string& path) {
  Plugin p;
  p.path = path;
  std::error_code ignored;
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {  // a pipe would keep dlopen() waiting
    p.problem = "it is no regular file";
    return p;
  }
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    p.problem = dlerror();
    return p;
  }
  using Entry = const tern_device_plugin* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, "tern_device_library"));
  if (entry == nullptr) {
    p.problem = "it does not export tern_device_library";
    return p;
  }
  const tern_device_plugin* table = entry();
  p.problem = why_not(table);
  if (!p.problem.empty()) return p;
  p.table = table;
  std::int32_t count = 0;
  if (table->count(&count) != TERN_DEVICE_OK) {
    p.problem = table->last_message();
  } else {
    p.count = std::max(0, count);
    if (p.count == 0) p.problem = "it finds no device on this machine";
  }
  return p;
}

bool is_library(const fs::path& p) {
  return p.extension() == ".so" || p.extension() == ".dylib";
}

/// Libraries of a folder in the order of their names, or the one file.
void add_libraries(const fs::path& place, std::vector<std::string>& paths) {
  std::error_code ignored;
  if (!fs::is_directory(place, ignored)) {
    paths.push_back(place.string());
    return;
  }
  std::vector<std::string> found;
  for (const fs::directory_entry& e : fs::directory_iterator(place, ignored)) {
    if (is_library(e.path())) found.push_back(e.path().string());
  }
  std::ranges::sort(found);
  paths.insert(paths.end(), found.begin(), found.end());
}

std::vector<Plugin> find() {
  std::vector<std::string> paths;
  const char* list = ::secure_getenv("TERN_DEVICE_PATH");
  std::string_view rest = list == nullptr ? "" : list;
  while (!rest.empty()) {
    const std::string_view path = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), path.size() + 1));
    // A bare name would be looked up in the system's folders, not here.
    if (!path.empty()) add_libraries(fs::absolute(std::string(path)), paths);
  }
  std::error_code ignored;
  for (const std::string& folder : own_folders("devices")) {
    if (fs::is_directory(folder, ignored)) add_libraries(folder, paths);
  }
  std::vector<Plugin> plugins;
  for (const std::string& path : paths) {
    if (std::ranges::find(plugins, path, &Plugin::path) != plugins.end()) continue;
    Plugin p = load(path);
    const auto same = std::ranges::find_if(
        plugins, [&](const Plugin& other) { return p.table != nullptr && other.name() == p.name(); });
    if (same != plugins.end()) {
      p.problem = fmt::format("{} has devices named '{}' already", same->path, p.name());
      p.table = nullptr;
      p.count = 0;
    }
    plugins.push_back(std::move(p));
  }
  return plugins;
}

}  // namespace

const std::vector<Plugin>& device_plugins() {
  static const std::vector<Plugin> plugins = find();
  return plugins;
}

}  // namespace tern
