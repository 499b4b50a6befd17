#include "runtime/collective/engines.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace tern {
namespace {

namespace fs = std::filesystem;

/// Debian's packages of what an engine is built over.
struct Package {
  const char *engine, *build, *run;
};
constexpr Package kPackages[] = {{"gloo", "libgloo-dev", "libgloo0"},
                                 {"mpi", "libopenmpi-dev", "libopenmpi3 and openmpi-bin"}};

std::vector<fs::path> folders() {
  std::vector<fs::path> list;
  const char* given = std::getenv("TERN_ENGINE_PATH");
  std::string_view rest = given == nullptr ? "" : given;
  while (!rest.empty()) {
    const std::string_view path = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), path.size() + 1));
    if (!path.empty()) list.push_back(fs::absolute(std::string(path)));
  }
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&engines), &info) == 0 || info.dli_fname == nullptr) return list;
  std::error_code failed;
  fs::path file = fs::canonical(info.dli_fname, failed);
  if (failed) file = fs::canonical("/proc/self/exe", failed);
  if (failed) return list;
  const fs::path here = file.parent_path();
  list.insert(list.end(), {here / "engines", here / "tern" / "engines",
                           here.parent_path() / TERN_LIBRARY_FOLDER / "tern" / "engines"});
  return list;
}

Engine load(const fs::path& path, const std::string& name) {
  Engine e;
  e.info.name = name;
  e.info.path = path.string();
  // Open MPI looks for its parts among the global symbols.
  void* handle = dlopen(path.c_str(), RTLD_NOW | (name == "mpi" ? RTLD_GLOBAL : RTLD_LOCAL));
  if (handle == nullptr) {
    e.info.problem = dlerror();
    return e;
  }
  const auto entry = reinterpret_cast<const tern_engine* (*)()>(dlsym(handle, "tern_engine_library"));
  const tern_engine* const table = entry == nullptr ? nullptr : entry();
  if (table == nullptr || table->abi != TERN_ENGINE_ABI || table->size < sizeof(tern_engine)) {
    e.info.problem = "it is no engine for this version of tern/engine.h: compile it anew";
    return e;
  }
  e.info.version = table->version;
  e.table = table;
  return e;
}

std::vector<Engine> find() {
  std::vector<Engine> found;
  for (const fs::path& folder : folders()) {
    std::error_code ignored;
    std::vector<fs::path> paths;
    for (const fs::directory_entry& e : fs::directory_iterator(folder, ignored)) paths.push_back(e.path());
    std::ranges::sort(paths);
    for (const fs::path& p : paths) {
      const std::string file = p.stem().string();
      constexpr std::string_view kPrefix = "libtern_";
      if (p.extension() != ".so" || !file.starts_with(kPrefix)) continue;
      const std::string name = file.substr(kPrefix.size());
      const auto same = [&](const Engine& e) { return e.info.name == name && e.table != nullptr; };
      if (std::ranges::none_of(found, same)) found.push_back(load(p, name));
    }
  }
  return found;
}

}  // namespace

const std::vector<Engine>& engines() {
  static const std::vector<Engine> found = find();
  return found;
}

const tern_engine& find_engine(const std::string& name) {
  std::string have;
  for (const Engine& e : engines()) {
    if (e.info.name == name && e.table != nullptr) return *e.table;
    if (e.info.name == name)
      fail(ErrorCode::unsupported, fmt::format("the engine '{}' does not load: {}", name, e.info.problem));
    if (e.table != nullptr) have += fmt::format("{}'{}'", have.empty() ? "" : ", ", e.info.name);
  }
  std::string hint = "the engines of connect_group are 'gloo' and 'mpi'";
  for (const Package& p : kPackages) {
    if (name == p.engine)
      hint = fmt::format(
          "this build of Tern is without it: install {} and build again, or put libtern_{}.so into "
          "engines/ beside Tern's library (it needs {})",
          p.build, name, p.run);
  }
  fail(ErrorCode::unsupported,
       fmt::format("there is no engine '{}'; there is: {}; {}", name, have.empty() ? "none" : have, hint));
}

std::vector<EngineInfo> group_engines() {
  std::vector<EngineInfo> list;
  for (const Engine& e : engines()) list.push_back(e.info);
  return list;
}

}  // namespace tern
