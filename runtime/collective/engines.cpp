#include "runtime/collective/engines.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <tern/error.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <string_view>

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
  std::vector<std::string> list;
  const char* given = ::secure_getenv("TERN_ENGINE_PATH");
  std::string_view rest = given == nullptr ? "" : given;
  while (!rest.empty()) {
    const std::string_view path = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), path.size() + 1));
    if (!path.empty()) list.emplace_back(path);
  }
  for (std::string& folder : own_folders("engines")) list.push_back(std::move(folder));
  return list;
}

Engine load(const std::string& path, const std::string& name) {
  Engine e;
  e.info.name = name;
  e.info.path = path;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {  // dlopen() would block on a pipe
    e.info.problem = "it is not a regular file";
    return e;
  }
  // Open MPI looks up its components among the global symbols.
  void* handle = dlopen(path.c_str(), RTLD_NOW | (name == "mpi" ? RTLD_GLOBAL : RTLD_LOCAL));
  if (handle == nullptr) {
    e.info.problem = dlerror();
    return e;
  }
  const auto entry = reinterpret_cast<const tern_engine* (*)()>(dlsym(handle, "tern_engine_library"));
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
    const std::string path = folder + "/libtern_" + name + ".so";
    // The dynamic linker searches a bare name in the system's folders.
    if (found.table == nullptr && folder.find('/') != std::string::npos && access(path.c_str(), R_OK) == 0)
      found = load(path, name);
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

bool of_devices(const std::string& name) {
  return name == "nccl" || name == "rccl";
}

const tern_engine& find_engine(const std::string& name) {
  if (of_devices(name)) {
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
