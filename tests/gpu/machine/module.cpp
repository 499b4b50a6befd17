#include "tests/gpu/machine/module.h"

#include <dlfcn.h>

#include "tests/gpu/machine/status.h"

namespace tern::emulator {

Module::~Module() {
  if (library != nullptr) dlclose(library);
}

std::shared_ptr<Module> open_module(const std::string& path) {
  auto module = std::make_shared<Module>();
  module->library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module->library == nullptr) refuse(Status::invalid_image, "no translated kernels: %s", dlerror());
  auto kernels = reinterpret_cast<decltype(&tern_emulated_kernels)>(dlsym(module->library, "tern_emulated_kernels"));
  if (kernels == nullptr) refuse(Status::invalid_image, "%s exports no tern_emulated_kernels", path.c_str());
  module->kernels = kernels(&module->count);
  module->path = path;
  return module;
}

}  // namespace tern::emulator
