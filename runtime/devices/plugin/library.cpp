#include "runtime/devices/plugin/library.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <utility>

#include "platform/environment.h"
#include "platform/library.h"
#include "platform/path.h"
#include "runtime/own_folders.h"

namespace tern {
namespace {

namespace fs = std::filesystem;

/// Smallest table of a plugin of this version: everything up to the last required function.
constexpr std::size_t kMinSize = offsetof(tern_device_plugin, get_extension) + sizeof(void*);

std::string why_not(const tern_device_plugin* t) {
  if (t == nullptr) return "tern_device_library returned nothing";
  if (t->abi != TERN_DEVICE_ABI) {
    return fmt::format("it was built for version {} of tern/device.h, but this Tern has {}: recompile it", t->abi,
                       TERN_DEVICE_ABI);
  }
  if (t->size < kMinSize) return fmt::format("its table has {} bytes, less than {}: recompile it", t->size, kMinSize);
  // All members after the name are required functions.
  const auto* functions = reinterpret_cast<void* const*>(&t->last_message);
  const auto* end = reinterpret_cast<void* const*>(reinterpret_cast<const char*>(t) + kMinSize);
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
  const fs::path path = platform::path_of(p.path);
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {  // loading a pipe would block
    p.problem = "it is not a regular file";
    return;
  }
  void* handle = platform::open_library(p.path, &p.problem);
  if (handle == nullptr) return;
  using Entry = const tern_device_plugin* (*)();
  const auto entry = platform::find_function<Entry>(handle, "tern_device_library");
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

/// Returns NAME of the library tern_NAME (libtern_NAME.so, tern_NAME.dll); empty for other files.
std::string name_of_file(const Plugin& p) {
  const std::string file = platform::text_of(platform::path_of(p.path).filename());
  const std::string library = platform::library_file_name("tern_");
  const std::string prefix = library.substr(0, library.find('.'));
  return file.starts_with(prefix) ? file.substr(prefix.size(), file.find('.') - prefix.size()) : std::string();
}

/// Adds the libraries of a folder in name order, or a single file.
void add_libraries(const fs::path& place, std::vector<std::string>& paths) {
  std::error_code ignored;
  if (!fs::is_directory(place, ignored)) {
    paths.push_back(platform::text_of(place));
    return;
  }
  std::vector<std::string> found;
  for (const fs::directory_entry& e : fs::directory_iterator(place, ignored)) {
    if (platform::is_library_file_name(platform::text_of(e.path()))) found.push_back(platform::text_of(e.path()));
  }
  std::ranges::sort(found);
  paths.insert(paths.end(), found.begin(), found.end());
}

std::vector<Plugin> find() {
  std::vector<std::string> paths;
  for (const std::string& path : platform::split_paths(platform::trusted_variable("TERN_DEVICE_PATH").value_or(""))) {
    add_libraries(fs::absolute(platform::path_of(path)), paths);  // the system searches bare names in its own folders
  }
  std::error_code ignored;
  const bool only_named = !platform::variable_is_on("TERN_DEVICE_AUTOLOAD", true);
  for (const std::string& folder : own_folders("devices")) {
    if (only_named) break;
    if (const fs::path path = platform::path_of(folder); fs::is_directory(path, ignored)) add_libraries(path, paths);
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
  const auto p = std::ranges::find(found_plugins(), path, &Plugin::path);
  if (p == found_plugins().end())
    fail(ErrorCode::invalid_argument, fmt::format("{} is in no folder for device plugins", path));
  load(*p);
  count_devices(*p);
  return *p;
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
