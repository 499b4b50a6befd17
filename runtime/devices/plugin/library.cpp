#include "runtime/devices/plugin/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <utility>

#include "runtime/own_folders.h"

namespace tern {
namespace {

namespace fs = std::filesystem;

/// Smallest table of a plugin of this version: everything up to the last required function.
constexpr std::size_t kLeastSize = offsetof(tern_device_plugin, get_extension) + sizeof(void*);

std::string why_not(const tern_device_plugin* t) {
  if (t == nullptr) return "tern_device_library returned nothing";
  if (t->abi != TERN_DEVICE_ABI) {
    return fmt::format("it was built for version {} of tern/device.h, but this Tern has {}: recompile it", t->abi,
                       TERN_DEVICE_ABI);
  }
  if (t->size < kLeastSize)
    return fmt::format("its table has {} bytes, less than {}: recompile it", t->size, kLeastSize);
  // All members after the name are required functions.
  const auto* functions = reinterpret_cast<void* const*>(&t->last_message);
  const auto* end = reinterpret_cast<void* const*>(reinterpret_cast<const char*>(t) + kLeastSize);
  if (std::any_of(functions, end, [](const void* f) { return f == nullptr; })) return "a required function is missing";
  const std::string_view name = t->name == nullptr ? "" : t->name;
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (name.empty() || name == "cpu" || !std::ranges::all_of(name, plain))
    return "the name of its devices must consist of lower-case letters and digits, and must not be 'cpu'";
  return {};
}

void load(Plugin& p) {
  if (std::exchange(p.loaded, true)) return;
  std::error_code ignored;
  if (fs::exists(p.path, ignored) && !fs::is_regular_file(p.path, ignored)) {  // dlopen() would block on a pipe
    p.problem = "it is not a regular file";
    return;
  }
  void* handle = dlopen(p.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    p.problem = dlerror();
    return;
  }
  using Entry = const tern_device_plugin* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, "tern_device_library"));
  if (entry == nullptr) {
    p.problem = "it does not export tern_device_library";
    return;
  }
  const tern_device_plugin* table = entry();
  p.problem = why_not(table);
  if (p.problem.empty()) p.table = table;
}

void count_devices(Plugin& p) {
  if (p.table == nullptr || std::exchange(p.counted, true)) return;
  std::int32_t count = 0;
  if (p.table->count(&count) != TERN_DEVICE_OK) {
    p.problem = p.table->last_message();
  } else {
    p.count = std::max(0, count);
    if (p.count == 0) p.problem = "it finds no device on this machine";
  }
}

/// Returns NAME of libtern_NAME.so; empty for other files.
std::string name_of_file(const Plugin& p) {
  constexpr std::string_view kPrefix = "/libtern_";
  const std::size_t begin = p.path.rfind('/');
  if (p.path.compare(begin, kPrefix.size(), kPrefix) != 0) return {};
  const std::size_t from = begin + kPrefix.size();
  return p.path.substr(from, p.path.find('.', from) - from);
}

bool is_library(const fs::path& p) {
  return p.extension() == ".so" || p.extension() == ".dylib";
}

/// Adds the libraries of a folder in name order, or a single file.
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
    // The dynamic linker searches a bare name in the system's folders.
    if (!path.empty()) add_libraries(fs::absolute(std::string(path)), paths);
  }
  std::error_code ignored;
  for (const std::string& folder : own_folders("devices")) {
    if (fs::is_directory(folder, ignored)) add_libraries(folder, paths);
  }
  std::vector<Plugin> plugins;
  for (const std::string& path : paths) {
    if (std::ranges::find(plugins, path, &Plugin::path) == plugins.end()) plugins.push_back({path, nullptr, {}});
  }
  return plugins;
}

std::mutex mutex;

/// All existing libraries, in search order.
std::vector<Plugin>& found_plugins() {
  static std::vector<Plugin> plugins = find();
  return plugins;
}

}  // namespace

const std::vector<Plugin>& device_plugins() {
  const std::lock_guard lock(mutex);
  std::vector<Plugin>& plugins = found_plugins();
  for (auto p = plugins.begin(); p != plugins.end(); ++p) {
    load(*p);
    const auto same = std::find_if(
        plugins.begin(), p, [&](const Plugin& other) { return p->table != nullptr && other.name() == p->name(); });
    if (same == p) {
      count_devices(*p);
    } else {
      p->problem = fmt::format("{} already has devices named '{}'", same->path, p->name());
      p->table = nullptr;
    }
  }
  return plugins;
}

const Plugin* device_plugin(const std::string& name, bool count) {
  const std::lock_guard lock(mutex);
  for (Plugin& p : found_plugins()) {
    const std::string named = name_of_file(p);
    if (!named.empty() && named != name) continue;
    load(p);
    if (p.name() != name) continue;
    if (count) count_devices(p);
    return &p;
  }
  return nullptr;
}

std::vector<std::string> plugin_paths() {
  std::vector<std::string> paths;
  for (const Plugin& p : found_plugins()) paths.push_back(p.path);
  return paths;
}

const Plugin& plugin_of_file(const std::string& path) {
  const std::lock_guard lock(mutex);
  Plugin& p = *std::ranges::find(found_plugins(), path, &Plugin::path);
  load(p);
  count_devices(p);
  return p;
}

std::string plugin_names() {
  const std::lock_guard lock(mutex);
  std::string names;
  for (const Plugin& p : found_plugins()) {
    std::string name = p.loaded ? p.name() : name_of_file(p);
    if (!name.empty()) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

}  // namespace tern
