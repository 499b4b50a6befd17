#include "devices/gpu/libraries/shared_library.h"

#include <dlfcn.h>

#include <cctype>
#include <cstdlib>

#include "names.h"

namespace tern::gpu {
namespace {

std::string switch_name() {
  return plugin_variable("_LIBRARIES");
}

}  // namespace

std::string plugin_variable(const char* end) {
  std::string name = "TERN_";
  for (const char* c = names::kPlugin; *c != 0; ++c) name += static_cast<char>(std::toupper(*c));
  return name + end;
}

bool wants_libraries() {
  const char* text = std::getenv(switch_name().c_str());
  return text == nullptr || std::string(text) != "0";
}

std::string left_out() {
  return switch_name() + " is 0";
}

std::span<const char* const> files_of(const LibraryPlaces& places) {
  // The environment's string stays valid; the span needs a stable pointer.
  thread_local const char* own = nullptr;
  own = ::secure_getenv(places.variable);
  if (own != nullptr && *own != 0) return {&own, 1};
  return places.files;
}

void* open_file(const char* file) {
  return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

void close_file(void* library) {
  dlclose(library);
}

void* symbol_of(void* library, const char* name) {
  return dlsym(library, name);
}

std::string missing(const LibraryPlaces& places) {
  std::string list;
  for (const char* file : files_of(places)) list += (list.empty() ? "" : ", ") + std::string(file);
  return std::string(places.title) + " is missing: no library " + list + "; " + places.hint + ", or set its path in " +
         places.variable;
}

}  // namespace tern::gpu
