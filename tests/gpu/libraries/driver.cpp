#include "tests/gpu/libraries/driver.h"

#include <dlfcn.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/gpu/libraries/image.h"

namespace tern::stand_in {
namespace {

gpu::Api find_driver() {
  gpu::Api api;
  void* library = nullptr;
  for (const char* name : gpu::names::kDriverLibraries)
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) misuse("a library without its driver");
#define TERN_FIND(name, cuda, hip, parameters) \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, TERN_GPU_SYMBOL(cuda, hip)));
  TERN_GPU_FUNCTIONS(TERN_FIND)
#undef TERN_FIND
  return api;
}

}  // namespace

const gpu::Api& driver() {
  static const gpu::Api api = find_driver();
  return api;
}

gpu::Function load(const char* name) {
  const std::string kernels = image();
  gpu::Module module = nullptr;
  gpu::Function function = nullptr;
  if (driver().module_load(&module, kernels.c_str(), 0, nullptr, nullptr) != gpu::kSuccess ||
      driver().module_function(&function, module, name) != gpu::kSuccess)
    return nullptr;
  return function;
}

gpu::Status launch(gpu::Function function, const void* parameter, gpu::Stream stream) {
  void* parameters[] = {const_cast<void*>(parameter)};
  return driver().launch(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
}

bool is_to_fail(const char* function) {
  const char* const part = std::getenv("TERN_STAND_IN_FAILS");
  return part != nullptr && std::strstr(function, part) != nullptr;
}

void misuse(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::fputs("stand-in of a library: ", stderr);
  std::vfprintf(stderr, format, arguments);
  std::fputc('\n', stderr);
  va_end(arguments);
  std::abort();
}

}  // namespace tern::stand_in
