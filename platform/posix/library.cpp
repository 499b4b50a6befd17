#include "platform/library.h"

#include <dlfcn.h>

namespace tern::platform {

void* open_library(const std::string& path, std::string* problem, Symbols symbols) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | (symbols == Symbols::shared ? RTLD_GLOBAL : RTLD_LOCAL));
  if (library == nullptr && problem != nullptr) *problem = ::dlerror();  // NOLINT(concurrency-mt-unsafe): per thread
  return library;
}

void close_library(void* library) {
  ::dlclose(library);
}

void* find_symbol(void* library, const char* name) {
  return ::dlsym(library, name);
}

}  // namespace tern::platform
