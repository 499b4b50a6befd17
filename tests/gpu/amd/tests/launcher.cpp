#include "tests/gpu/amd/tests/launcher.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "tests/gpu/amd/command.h"
#include "tests/gpu/amd/compile.h"

namespace tern::gpu::amd {
namespace {

void trap(void*, const char* kernel, const char* why) {
  std::fprintf(stderr, "%s: %s\n", kernel, why);
  std::_Exit(3);
}

}  // namespace

Library::Library(const std::string& text, const std::vector<std::string>& options) {
  const CompileResult result = compile({text, "test.hip", "gfx942", options, {}});
  if (!result.ok) throw std::runtime_error(result.log);
  const TemporaryFolder folder;
  write_file(folder.path() / "kernels.so", result.library);
  handle_ = dlopen((folder.path() / "kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) throw std::runtime_error(dlerror());
}

Library::~Library() {
  dlclose(handle_);
}

const tern_emulated_kernel& Library::kernel(const std::string& name) const {
  using Kernels = const tern_emulated_kernel* (*)(std::uint32_t*);
  std::uint32_t count = 0;
  const tern_emulated_kernel* kernels = reinterpret_cast<Kernels>(dlsym(handle_, "tern_emulated_kernels"))(&count);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (kernels[i].name == name) return kernels[i];
  }
  throw std::runtime_error("no kernel " + name);
}

void Library::run_with(const tern_emulated_kernel& kernel, const Grid& grid,
                       const std::vector<const void*>& arguments) const {
  if (arguments.size() != kernel.parameter_count) throw std::runtime_error("wrong number of arguments");
  std::vector<char> parameters(kernel.parameter_bytes);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::memcpy(parameters.data() + kernel.parameters[i].offset, arguments[i], kernel.parameters[i].size);
  }
  const tern_emulated_services services{nullptr, trap};
  tern_emulated_launch launch{parameters.data(), {}, {}, grid.local_bytes, &services, nullptr};
  for (int i = 0; i < 3; ++i) {
    launch.grid[i] = grid.blocks[i];
    launch.block[i] = grid.threads[i];
  }
  kernel.run(&launch);
}

}  // namespace tern::gpu::amd
