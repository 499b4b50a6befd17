// Kernels of a device: compiled kernels of archives, else kernels compiled from source text.
#include <fmt/format.h>
#include <tern/error.h>
#include <tern/kernels.h>

#include <algorithm>
#include <cstring>
#include <sstream>

#include "platform/environment.h"
#include "runtime/devices/plugin/archived_kernels.h"
#include "runtime/devices/plugin/device.h"
#include "runtime/trace/recorder.h"

namespace tern {

namespace {

constexpr const char* kSpirvTarget = "xpu:spirv";

}  // namespace

std::vector<std::string> kernel_targets(const tern_device_properties& p) {
  std::vector<std::string> targets;
  if (p.dialect == TERN_DIALECT_OPENCL && (p.features & TERN_DEVICE_SPIRV) != 0) targets.emplace_back(kSpirvTarget);
  std::istringstream words(std::string(p.kernel_targets, strnlen(p.kernel_targets, sizeof p.kernel_targets)));
  for (std::string word; words >> word;) targets.push_back(word);
  return targets;
}

bool compiling_is_forbidden() {
  return platform::variable_is_on("TERN_NO_COMPILE", false);
}

std::shared_ptr<const ArchivedKernels> PluginDevice::take_kernels(const Program& program) {
  auto kernels = std::make_shared<const ArchivedKernels>(program);
  const std::lock_guard lock(kernels_mutex_);
  std::erase_if(archived_, [](const auto& k) { return k.expired(); });
  archived_.push_back(kernels);
  return kernels;
}

void PluginDevice::load(const std::string& name, const std::string& target, std::span<const char> bytes,
                        ModuleKernel& kernel) {
  const TraceSpan span(EventKind::compile, (target.empty() ? "compilation of " : "loading of ") + name);
  tern_device_source source{};
  source.size = sizeof source;
  source.dialect = target.empty()           ? properties_.dialect
                   : target == kSpirvTarget ? TERN_DIALECT_SPIRV
                                            : TERN_DIALECT_COMPILED;
  source.target = target.empty() ? nullptr : target.c_str();
  source.name = name.c_str();
  source.text = bytes.data();
  source.length = bytes.size();
  check(plugin_.module_load(index_, &source, &kernel.module),
        ((target.empty() ? "compiling " : "loading the archive's ") + name).c_str());
  try {
    check(plugin_.module_kernel(index_, kernel.module, name.c_str(), &kernel.kernel), ("finding " + name).c_str());
  } catch (...) {
    plugin_.module_unload(index_, kernel.module);
    throw;
  }
}

bool PluginDevice::load_archived(const std::string& name, const std::string& text, ModuleKernel& kernel) {
  if (kernel_targets_.empty()) return false;
  std::vector<std::shared_ptr<const ArchivedKernels>> places;
  {
    const std::lock_guard lock(kernels_mutex_);
    for (const auto& k : archived_) places.push_back(k.lock());
  }
  for (const std::string& target : kernel_targets_) {
    for (const auto& place : places) {
      if (place == nullptr) continue;
      const std::span<const std::byte> module = place->find(target, name, text);
      if (module.empty()) continue;
      // The interface requires a zero after the bytes.
      std::vector<char> bytes(module.size() + 1);
      std::memcpy(bytes.data(), module.data(), module.size());
      try {
        load(name, target, std::span(bytes).first(module.size()), kernel);
        kernel.from_archive = true;
        return true;
      } catch (const Error& e) {  // tries the archive's next module, else compiles the text
        kernel.refused = e.what();
      }
    }
  }
  if (!kernel.refused.empty() && !may_compile_) fail(ErrorCode::unsupported, kernel.refused);
  return false;
}

void PluginDevice::compile(const std::string& name, const std::string& text, ModuleKernel& kernel) {
  if (!may_compile_) {
    fail(ErrorCode::unsupported,
         fmt::format(
             "{}: {} would have to be compiled, which TERN_NO_COMPILE forbids{}", this->name(), name,
             kernel_targets_.empty()
                 ? ", and this device does not take kernels from archives"
                 : fmt::format(
                       ": the archive does not have the kernel, or native code is not allowed. Export it with --target "
                       "{} (and --size for sizes like these), and allow native code (--native-code)",
                       kernel_targets_.front())));
  }
  load(name, {}, text, kernel);
}

portable::KernelHandle PluginDevice::kernel(const std::string& key, const std::string& name,
                                            const std::function<std::string()>& text) {
  {
    const std::lock_guard lock(kernels_mutex_);
    const auto it = kernels_.find(key);
    if (it != kernels_.end()) return it->second.handle();
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

std::string PluginDevice::kernel_name(portable::KernelHandle kernel) const {
  const std::lock_guard lock(kernels_mutex_);
  const auto it = std::ranges::find_if(kernels_, [&](const auto& k) { return k.second.handle() == kernel; });
  return it == kernels_.end() ? "kernel" : it->second.name;
}

std::vector<LoadedKernel> PluginDevice::loaded_kernels() const {
  const std::lock_guard lock(kernels_mutex_);
  std::vector<LoadedKernel> list;
  for (const auto& [key, kernel] : kernels_) list.push_back({kernel.name, kernel.from_archive, kernel.refused});
  std::ranges::sort(list, {}, &LoadedKernel::name);
  return list;
}

}  // namespace tern
