// The kernels of a device: of archives that bring them compiled, else compiled from their text.
#include <fmt/format.h>
#include <tern/error.h>
#include <tern/kernels.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runtime/devices/plugin/archived_kernels.h"
#include "runtime/devices/plugin/device.h"

namespace tern {

bool compiling_is_forbidden() {
  const char* text = std::getenv("TERN_NO_COMPILE");
  return text != nullptr && *text != 0 && std::string(text) != "0";
}

std::shared_ptr<const ArchivedKernels> PluginDevice::take_kernels(const Program& program) {
  auto kernels = std::make_shared<const ArchivedKernels>(program);
  const std::lock_guard lock(kernels_mutex_);
  std::erase_if(archived_, [](const auto& k) { return k.expired(); });
  archived_.push_back(kernels);
  return kernels;
}

void PluginDevice::load(const std::string& name, std::int32_t dialect, std::span<const char> bytes,
                        ModuleKernel& kernel) {
  tern_device_source source{};
  source.size = sizeof source;
  source.dialect = dialect;
  source.name = name.c_str();
  source.text = bytes.data();
  source.length = bytes.size();
  check(plugin_.module_load(index_, &source, &kernel.module),
        ((dialect == properties_.dialect ? "compiling " : "loading the archive's ") + name).c_str());
  try {
    check(plugin_.module_kernel(index_, kernel.module, name.c_str(), &kernel.kernel), ("finding " + name).c_str());
  } catch (...) {
    plugin_.module_unload(index_, kernel.module);
    throw;
  }
}

bool PluginDevice::load_archived(const std::string& name, const std::string& text, ModuleKernel& kernel) {
  if ((properties_.features & TERN_DEVICE_SPIRV) == 0 || properties_.dialect != TERN_DIALECT_OPENCL) return false;
  std::vector<std::shared_ptr<const ArchivedKernels>> places;
  {
    const std::lock_guard lock(kernels_mutex_);
    for (const auto& k : archived_) places.push_back(k.lock());
  }
  for (const auto& place : places) {
    if (place == nullptr) continue;
    const std::span<const std::byte> module = place->find(DeviceKernel::Form::spirv, name, text);
    if (module.empty()) continue;
    // The interface promises a zero after the bytes.
    std::vector<char> bytes(module.size() + 1);
    std::memcpy(bytes.data(), module.data(), module.size());
    try {
      load(name, TERN_DIALECT_SPIRV, std::span(bytes).first(module.size()), kernel);
      kernel.from_archive = true;
      return true;
    } catch (const Error& e) {  // a driver that cannot take it compiles the text
      if (!may_compile_) throw;
      kernel.refused = e.what();
    }
  }
  return false;
}

void PluginDevice::compile(const std::string& name, const std::string& text, ModuleKernel& kernel) {
  if (!may_compile_) {
    fail(ErrorCode::unsupported,
         fmt::format("{}: {} would have to be compiled, which TERN_NO_COMPILE forbids{}", this->name(), name,
                     (properties_.features & TERN_DEVICE_SPIRV) == 0
                         ? ", and this device takes no kernels of archives"
                         : ": the archive has no such kernel, or may not be asked. Export it with --target xpu:spirv "
                           "(and --size for sizes like these), and allow native code (--native-code)"));
  }
  load(name, properties_.dialect, text, kernel);
}

portable::KernelHandle PluginDevice::kernel(const std::string& key, const std::string& name,
                                            const std::function<std::string()>& text) {
  {
    const std::lock_guard lock(kernels_mutex_);
    const auto at = kernels_.find(key);
    if (at != kernels_.end()) return at->second.handle();
  }
  const std::string source = text();
  ModuleKernel kernel;
  kernel.name = name;
  if (!load_archived(name, source, kernel)) compile(name, source, kernel);
  const std::lock_guard lock(kernels_mutex_);
  const auto [slot, is_new] = kernels_.try_emplace(key, kernel);
  if (!is_new) plugin_.module_unload(index_, kernel.module);  // another thread was faster
  return slot->second.handle();
}

std::vector<LoadedKernel> PluginDevice::loaded_kernels() const {
  const std::lock_guard lock(kernels_mutex_);
  std::vector<LoadedKernel> list;
  for (const auto& [key, kernel] : kernels_) list.push_back({kernel.name, kernel.from_archive, kernel.refused});
  std::ranges::sort(list, {}, &LoadedKernel::name);
  return list;
}

}  // namespace tern
