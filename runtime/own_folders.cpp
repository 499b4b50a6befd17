#include "runtime/own_folders.h"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace tern {
namespace {

/// Returns the file mapped as this code, as named by the kernel: absolute, without links. The dynamic linker only knows
/// a command as typed and a library by LD_LIBRARY_PATH; both may be relative, and a file of that name in the working
/// directory would be mistaken for the library.
std::string own_file() {
  const auto here = reinterpret_cast<std::uintptr_t>(&own_folders);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0;
    int name = 0;
    // 55e0-55f0 r-xp 00001000 08:01 1234    /usr/bin/tern
    if (std::sscanf(line.c_str(), "%llx-%llx %*s %*s %*s %*s %n", &begin, &end, &name) != 2) continue;
    if (begin <= here && here < end) return line.substr(static_cast<std::size_t>(name));
  }
  return {};
}

}  // namespace

std::vector<std::string> own_folders(std::string_view name) {
  namespace fs = std::filesystem;
  const std::string file = own_file();
  if (!file.starts_with('/')) return {};
  const fs::path here = fs::path(file).parent_path();
  std::vector<std::string> folders;
  for (const fs::path& folder : {here, here / "tern", here.parent_path() / TERN_LIBRARY_FOLDER / "tern"})
    folders.push_back((folder / name).string());
  return folders;
}

}  // namespace tern
