// Modules of the machine.
#include "tests/gpu/machine/machine.h"

namespace tern::emulator {

uint64_t Machine::load(const std::shared_ptr<Context>& context, std::shared_ptr<Module> module) {
  module->context = context;
  module->handle = modules_.add(module);
  return module->handle;
}

void Machine::unload(uint64_t handle) {
  const std::shared_ptr<Module> module = modules_.remove(handle);
  module->loaded = false;
  functions_.remove_if([&](const Function& function) { return function.module.lock() == module; });
}

uint64_t Machine::function(uint64_t handle, const std::string& name) {
  const std::shared_ptr<Module> module = modules_.get(handle);
  std::shared_ptr<Function>& function = module->functions[name];
  for (uint32_t i = 0; i < module->count && !function; ++i) {
    if (name != module->kernels[i].name) continue;
    function = std::make_shared<Function>();
    function->module = module;
    function->kernel = &module->kernels[i];
    function->handle = functions_.add(function);
  }
  if (!function) {
    module->functions.erase(name);
    refuse(Status::not_found, "the module has no kernel %s", name.c_str());
  }
  return function->handle;
}

}  // namespace tern::emulator
