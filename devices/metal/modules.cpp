#include "devices/metal/modules.h"

#include <algorithm>

#include "devices/metal/handles.h"
#include "devices/metal/status.h"

namespace tern::metal {
namespace {

constexpr NS::UInteger kUsualThreads = 256;
constexpr std::size_t kMaxLog = 4000;

Owned<MTL::CompileOptions> options(const MetalDevice& d) {
  auto made = adopt(MTL::CompileOptions::alloc()->init());
  made->setLanguageVersion(MTL::LanguageVersion3_0);  // language of the first system with Metal 3
  if (d.math_modes) {
    made->setMathMode(MTL::MathModeSafe);
    made->setMathFloatingPointFunctions(MTL::MathFloatingPointFunctionsPrecise);
  } else {
    made->setFastMathEnabled(false);
  }
  return made;
}

}  // namespace

tern_device_status compile(const MetalDevice& d, const char* source, Owned<MTL::Library>& library) {
  NS::Error* error = nullptr;
  library = adopt(d.device->newLibrary(string(source), options(d).get(), &error));
  // A successful compilation returns only warnings in the error object.
  return library ? TERN_DEVICE_OK : failed(TERN_DEVICE_COMPILE, text(error).substr(0, kMaxLog));
}

tern_device_status pipeline(const MetalDevice& d, MTL::Library& library, const char* name, Pipeline& made) {
  const auto function = adopt(library.newFunction(string(name)));
  if (!function) return failed(TERN_DEVICE_INVALID, std::string("the text has no kernel ") + name);
  NS::Error* error = nullptr;
  made.state = adopt(d.device->newComputePipelineState(function.get(), &error));
  if (!made.state) return failed(TERN_DEVICE_COMPILE, text(error).substr(0, kMaxLog));
  made.max_threads = made.state->maxTotalThreadsPerThreadgroup();
  const NS::UInteger width = std::max<NS::UInteger>(made.state->threadExecutionWidth(), 1);
  made.usual_threads = std::max(std::min(made.max_threads, kUsualThreads) / width * width, NS::UInteger{1});
  return TERN_DEVICE_OK;
}

tern_device_status module_load(std::int32_t device, const tern_device_source* source, tern_device_module* module) {
  const Pool pool;
  const MetalDevice* d = find(device);
  if (d == nullptr) return TERN_DEVICE_INVALID;
  // Archived kernels are source text, too (the target metal:msl).
  if (source->dialect != TERN_DIALECT_METAL && source->dialect != TERN_DIALECT_COMPILED)
    return failed(TERN_DEVICE_UNSUPPORTED, "this device only compiles Metal's language");
  auto made = std::make_unique<tern_device_module_s>();
  const tern_device_status status = compile(*d, source->text, made->library);
  if (status == TERN_DEVICE_OK) *module = made.release();
  return status;
}

tern_device_status module_unload(std::int32_t, tern_device_module module) {
  const Pool pool;
  const std::unique_ptr<tern_device_module_s> ends(module);
  return TERN_DEVICE_OK;
}

tern_device_status module_kernel(std::int32_t device, tern_device_module module, const char* name,
                                 tern_device_kernel* kernel) {
  const Pool pool;
  const MetalDevice* d = find(device);
  if (d == nullptr) return TERN_DEVICE_INVALID;
  auto made = std::make_unique<tern_device_kernel_s>();
  const tern_device_status status = pipeline(*d, *module->library, name, made->pipeline);
  if (status != TERN_DEVICE_OK) return status;
  *kernel = made.get();
  module->kernels.push_back(std::move(made));
  return TERN_DEVICE_OK;
}

}  // namespace tern::metal
