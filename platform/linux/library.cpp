#include "platform/library.h"

#include <link.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace tern::platform {

std::string library_file_name(std::string_view name) {
  return "lib" + std::string(name) + ".so";
}

std::string module_file_name(std::string_view name) {
  return std::string(name) + ".so";
}

bool is_library_file_name(std::string_view file_name) {
  return file_name.ends_with(".so");
}

const char* zlib_file_name() {
  return "libz.so.1";
}

// The dynamic linker only knows a command as typed and a library by LD_LIBRARY_PATH. Both may be relative, and a file
// of that name in the working directory would be mistaken for the library. The kernel names files absolutely, without
// links.
std::string file_of_code(const void* address) {
  const auto here = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0;
    int name = 0;
    // 55e0-55f0 r-xp 00001000 08:01 1234    /usr/bin/tern
    if (std::sscanf(line.c_str(), "%llx-%llx %*s %*s %*s %*s %n", &begin, &end, &name) != 2) continue;
    if (begin > here || here >= end) continue;
    std::string file = line.substr(static_cast<std::size_t>(name));
    return file.starts_with('/') ? file : std::string();
  }
  return {};
}

std::string program_file() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

std::string loaded_library(std::string_view prefix) {
  struct Search {
    std::string_view prefix;
    std::string path;
  } search{prefix, {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* context) {
        auto& wanted = *static_cast<Search*>(context);
        const std::string_view path = info->dlpi_name;
        if (path.substr(path.rfind('/') + 1).starts_with(wanted.prefix)) wanted.path = path;
        return wanted.path.empty() ? 0 : 1;
      },
      &search);
  return search.path;
}

}  // namespace tern::platform
