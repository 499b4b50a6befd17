// Modules: libraries of translated kernels, and their functions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "tests/gpu/kernel.h"
#include "tests/gpu/machine/context.h"

namespace tern::emulator {

struct Function;

struct Module {
  uint64_t handle = 0;
  std::shared_ptr<Context> context;
  bool loaded = true;
  void* library = nullptr;
  const tern_emulated_kernel* kernels = nullptr;
  uint32_t count = 0;
  std::string path, text;                                      // path of the library; its source, if known
  std::map<std::string, std::shared_ptr<Function>> functions;  // requested functions

  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module();  // unloads the library
};

struct Function {
  uint64_t handle = 0;
  std::weak_ptr<Module> module;  // while loaded
  const tern_emulated_kernel* kernel = nullptr;
  uint32_t most_dynamic = 48 << 10;  // limit of dynamic local memory per launch, in bytes
};

// Opens a shared library with the export tern_emulated_kernels. Refuses anything else with Status::invalid_image.
std::shared_ptr<Module> open_module(const std::string& path);

}  // namespace tern::emulator
