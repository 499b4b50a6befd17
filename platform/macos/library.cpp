#include "platform/library.h"

#include <dlfcn.h>
#include <mach-o/dyld.h>

#include "platform/path.h"

namespace tern::platform {

std::string library_file_name(std::string_view name) {
  return "lib" + std::string(name) + ".so";  // CMake names modules so
}

std::string module_file_name(std::string_view name) {
  return std::string(name) + ".so";
}

bool is_library_file_name(std::string_view file_name) {
  return file_name.ends_with(".dylib") || file_name.ends_with(".so");
}

const char* zlib_file_name() {
  return "/usr/lib/libz.1.dylib";
}

std::string file_of_code(const void* address) {
  Dl_info info{};
  return ::dladdr(address, &info) == 0 ? std::string() : resolved_path(info.dli_fname);
}

std::string program_file() {
  std::uint32_t size = 0;
  ::_NSGetExecutablePath(nullptr, &size);
  std::string path(size, '\0');
  return ::_NSGetExecutablePath(path.data(), &size) == 0 ? resolved_path(path.c_str()) : std::string();
}

std::string loaded_library(std::string_view prefix) {
  for (std::uint32_t i = 0, count = ::_dyld_image_count(); i < count; ++i) {
    const char* const name = ::_dyld_get_image_name(i);
    const std::string_view path = name == nullptr ? "" : name;
    if (path.substr(path.rfind('/') + 1).starts_with(prefix)) return std::string(path);
  }
  return {};
}

}  // namespace tern::platform
