#include "runtime/collective/engines.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
#include <string_view>

#include "platform/environment.h"
#include "platform/file.h"
#include "platform/library.h"
#include "platform/path.h"
#include "runtime/own_folders.h"

namespace tern {
namespace {

/// Debian packages of the libraries used by an engine.
struct Package {
  const char *engine, *build, *run;
};
constexpr Package kPackages[] = {{"gloo", "libgloo-dev", "libgloo0"},
                                 {"mpi", "libopenmpi-dev", "libopenmpi3 and openmpi-bin"}};

/// Folders of TERN_ENGINE_PATH, then the folder of the library or command.
std::vector<std::string> folders() {
  std::vector<std::string> list = platform::split_paths(platform::trusted_variable("TERN_ENGINE_PATH").value_or(""));
  for (std::string& folder : own_folders("engines")) list.push_back(std::move(folder));
  return list;
}

Engine load(const std::string& path, const std::string& name) {
  Engine e;
  e.info.name = name;
  e.info.path = path;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(platform::path_of(path), ignored)) {  // loading a pipe would block
    e.info.problem = "it is not a regular file";
    return e;
  }
  // Open MPI looks up its components among the global symbols.
  const platform::Symbols symbols = name == "mpi" ? platform::Symbols::shared : platform::Symbols::local;
  void* handle = platform::open_library(path, &e.info.problem, symbols);
  if (handle == nullptr) return e;
  using Entry = const tern_engine* (*)();
  const auto entry = platform::find_function<Entry>(handle, "tern_engine_library");
  const tern_engine* const table = entry == nullptr ? nullptr : entry();
  if (table == nullptr || table->abi != TERN_ENGINE_ABI || table->size < offsetof(tern_engine, share)) {
    e.info.problem = "it is not an engine for this version of tern/engine.h: recompile it";
    return e;
  }
  e.info.version = table->version;
  e.table = table;
  return e;
}

/// Returns the first loadable library of that name, or the reasons for all failures.
Engine find(const std::string& name) {
  Engine found;
  found.info.name = name;
  for (const std::string& folder : folders()) {
    const std::string path = folder + "/" + platform::library_file_name("tern_" + name);
    // The system searches a bare name in its own folders.
    if (found.table == nullptr && platform::has_folder(folder) && platform::can_read(path)) found = load(path, name);
  }
  return found;
}

}  // namespace

const std::vector<Engine>& engines() {
  static const std::vector<Engine> found = [] {
    std::vector<Engine> all;
    for (const Package& p : kPackages) all.push_back(find(p.engine));
    return all;
  }();
  return found;
}

bool is_device_engine(const std::string& name) {
  return name == "nccl" || name == "rccl";
}

const tern_engine& find_engine(const std::string& name) {
  if (is_device_engine(name)) {
    for (const Engine& e : engines()) {
      if (e.table != nullptr) return *e.table;
    }
    return find_engine(kPackages[0].engine);
  }
  static std::map<std::string, Engine, std::less<>> others;  // engines of names unknown to Tern
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const Engine* found = nullptr;
  for (const Engine& e : engines()) {
    if (e.info.name == name) found = &e;
  }
  if (found == nullptr && name.find('/') == std::string::npos) {
    const auto known = others.find(name);
    found = known != others.end() ? &known->second : &others.emplace(name, find(name)).first->second;
  }
  if (found != nullptr && found->table != nullptr) return *found->table;
  if (found != nullptr && !found->info.problem.empty())
    fail(ErrorCode::unsupported, fmt::format("the engine '{}' does not load: {}", name, found->info.problem));
  std::string hint = "the engines of connect_group are 'gloo', 'mpi', 'nccl' and 'rccl'";
  for (const Package& p : kPackages) {
    if (name == p.engine)
      hint = fmt::format(
          "this build of Tern does not include it: install {} and build again, or put libtern_{}.so into "
          "engines/ beside Tern's library (it needs {})",
          p.build, name, p.run);
  }
  fail(ErrorCode::unsupported, fmt::format("unknown engine '{}'; {}", name, hint));
}

std::vector<EngineInfo> group_engines() {
  std::vector<EngineInfo> list;
  for (const Engine& e : engines()) {
    if (!e.info.path.empty()) list.push_back(e.info);
  }
  return list;
}

}  // namespace tern
