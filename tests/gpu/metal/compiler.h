// MTLCompileOptions, MTLLibrary, MTLFunction and MTLComputePipelineState.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tests/gpu/machine/module.h"
#include "tests/gpu/metal/object.h"

namespace tern::emulator::metal {

struct Pipeline : Object {
  explicit Pipeline(std::shared_ptr<tern::emulator::Function> function);
  // maxTotalThreadsPerThreadgroup and threadExecutionWidth of Apple's GPUs.
  std::uint64_t most_threads() { return 1024; }
  std::uint64_t width() { return 32; }

  std::shared_ptr<tern::emulator::Function> function;
  std::shared_ptr<Module> module;
};

// newLibraryWithSource:options:error: null means default options.
Object* new_library(int device, const std::string& text, Object* options, Object** error);
// newComputePipelineStateWithFunction:error:
Object* new_pipeline(Object* function, Object** error);

}  // namespace tern::emulator::metal
