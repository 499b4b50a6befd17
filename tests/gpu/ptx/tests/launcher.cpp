#include "tests/gpu/ptx/tests/launcher.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "tests/gpu/ptx/tests/nvrtc.h"

namespace tern::emulated {
namespace {

[[noreturn]] void trap(void*, const char* kernel, const char* why) {
  std::fprintf(stderr, "%s: %s\n", kernel, why);
  std::_Exit(3);
}

void set_conditional(void* conditionals, std::uint64_t handle, std::uint32_t value) {
  static_cast<std::vector<Kernels::Conditional>*>(conditionals)->push_back({handle, value});
}

}  // namespace

Kernels Kernels::from_ptx(const std::string& ptx) {
  Kernels kernels;
  kernels.load(ptx, Counts::off);
  return kernels;
}

Kernels::~Kernels() {
  if (handle_ != nullptr) dlclose(handle_);
}

void Kernels::load(const std::string& ptx, Counts counts) {
  handle_ = dlopen(compile_ptx_c(to_c(ptx, counts)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) throw std::runtime_error(dlerror());
}

const tern_emulated_kernel& Kernels::kernel(const std::string& name) const {
  using KernelTable = const tern_emulated_kernel* (*)(std::uint32_t*);
  std::uint32_t count = 0;
  const tern_emulated_kernel* all = reinterpret_cast<KernelTable>(dlsym(handle_, "tern_emulated_kernels"))(&count);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (all[i].name == name) return all[i];
  }
  throw std::runtime_error("no kernel " + name);
}

void Kernels::run_with(const tern_emulated_kernel& kernel, const Grid& grid, const std::vector<Argument>& arguments,
                       tern_emulated_counts* counts) const {
  if (arguments.size() != kernel.parameter_count) throw std::runtime_error("wrong number of arguments");
  std::vector<std::uint64_t> parameters((kernel.parameter_bytes + 7) / 8);
  char* bytes = reinterpret_cast<char*>(parameters.data());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].size != kernel.parameters[i].size) {
      throw std::runtime_error("argument " + std::to_string(i) + " has another size than the kernel's parameter");
    }
    std::memcpy(bytes + kernel.parameters[i].offset, arguments[i].bytes, arguments[i].size);
  }
  const tern_emulated_services services{set_conditional, trap};
  tern_emulated_launch launch{bytes, {}, {}, grid.shared_bytes, &services, &conditionals_, counts};
  for (int i = 0; i < 3; ++i) {
    launch.grid[i] = grid.blocks[i];
    launch.block[i] = grid.threads[i];
  }
  kernel.run(&launch);
}

}  // namespace tern::emulated
