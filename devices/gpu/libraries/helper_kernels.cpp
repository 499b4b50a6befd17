#include "devices/gpu/libraries/helper_kernels.h"

#include "devices/gpu/compile.h"
#include "devices/gpu/library.h"
#include "devices/gpu/status.h"

namespace tern::gpu {

tern_device_status HelperKernels::load(const GpuDevice& d, const std::string& text,
                                       std::span<const std::pair<const char*, Function*>> kernels) const {
  tern_device_source source{};
  source.size = sizeof source;
  source.dialect = names::kDialect;
  source.name = name;
  source.text = text.c_str();
  source.length = text.size();
  std::string code;
  TERN_GPU_TRY(compile(d, source, &code));
  Module module = nullptr;
  TERN_GPU_TRY(checked(api().module_load(&module, code.c_str(), 0, nullptr, nullptr),
                       (std::string("loading kernels of ") + purpose).c_str()));
  for (const auto& [kernel, function] : kernels) {
    if (const Status error = api().module_function(function, module, kernel); error != kSuccess) {
      api().module_unload(module);
      return checked(error, (std::string("finding a kernel of ") + purpose).c_str());
    }
  }
  return TERN_DEVICE_OK;
}

tern_device_status HelperKernels::launch(Function kernel, std::int64_t blocks, Stream stream, void** parameters) const {
  const Status error =
      api().launch(kernel, static_cast<unsigned>(blocks), 1, 1, block, 1, 1, 0, stream, parameters, nullptr);
  // Builds the message only on failure.
  return error == kSuccess ? TERN_DEVICE_OK : checked(error, (std::string("launching a kernel of ") + purpose).c_str());
}

}  // namespace tern::gpu
