#include "devices/gpu/modules.h"

#include <algorithm>
#include <array>
#include <vector>

#include "devices/gpu/compile.h"
#include "devices/gpu/devices.h"
#include "devices/gpu/handles.h"
#include "devices/gpu/library.h"
#include "devices/gpu/profiler.h"
#include "devices/gpu/status.h"
#include "devices/gpu/vendor.h"

namespace tern::gpu {
namespace {

constexpr unsigned kDefaultBlock = 256;  // threads per block, if the launch does not choose

tern_device_status load(const GpuDevice& d, const std::string& code, Module* module) {
  if (!names::kHasJitLog)
    return checked(api().module_load(module, code.c_str(), 0, nullptr, nullptr), "loading a kernel");
  std::array<char, 2048> log{};
  int options[] = {5, 6};  // CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size() - 1)};
  const Status error = api().module_load(module, code.c_str(), std::size(options), options, values);
  std::string description = std::string("loading a kernel") + (log[0] == 0 ? "" : " (" + std::string(log.data()) + ")");
  if (const std::string reason = reason_of_refusal(d, error, code); !reason.empty()) description += ": " + reason;
  return checked(error, description.c_str());
}

}  // namespace

tern_device_status module_load(std::int32_t device, const tern_device_source* source, tern_device_module* module) {
  TERN_GPU_ENTER(device);
  std::string code;
  if (source->dialect == TERN_DIALECT_COMPILED) {
    code.assign(source->text, source->length);
  } else if (source->dialect == names::kDialect) {
    TERN_GPU_TRY(compile(*d, *source, &code));
  } else {
    return failed(TERN_DEVICE_UNSUPPORTED,
                  std::string("the plugin ") + names::kPlugin + " does not compile that language");
  }
  Module loaded = nullptr;
  TERN_GPU_TRY(load(*d, code, &loaded));
  *module = new tern_device_module_s{loaded, {}};
  return TERN_DEVICE_OK;
}

tern_device_status module_unload(std::int32_t device, tern_device_module module) {
  const DeviceScope scope(device);
  const Status error = scope.device() == nullptr ? kSuccess : api().module_unload(module->module);
  delete module;
  return scope.device() == nullptr ? scope.status() : checked(error, "unloading a kernel");
}

tern_device_status module_kernel(std::int32_t device, tern_device_module module, const char* name,
                                 tern_device_kernel* kernel) {
  TERN_GPU_ENTER(device);
  Function function = nullptr;
  int max_threads = 0;
  TERN_GPU_TRY(checked(api().module_function(&function, module->module, name), "finding a kernel"));
  TERN_GPU_TRY(
      checked(api().function_attribute(&max_threads, names::kMaxThreads, function), "asking for a kernel's limits"));
  *kernel =
      &module->kernels.emplace_back(tern_device_kernel_s{function, static_cast<unsigned>(std::max(max_threads, 1))});
  return TERN_DEVICE_OK;
}

tern_device_status launch(std::int32_t device, tern_device_stream stream, tern_device_kernel kernel,
                          const tern_device_launch* info) {
  TERN_GPU_ENTER(device);
  if (info->items == 0) return TERN_DEVICE_OK;
  const unsigned block_threads =
      info->group != 0 ? info->group : std::min(kDefaultBlock, kernel->max_threads / names::kWarp * names::kWarp);
  if (block_threads == 0 || block_threads > kernel->max_threads)
    return failed(TERN_DEVICE_UNSUPPORTED, "a kernel wants blocks of " + std::to_string(info->group) +
                                               " threads and can have " + std::to_string(kernel->max_threads));
  const std::uint64_t block_count = (info->items + block_threads - 1) / block_threads;
  const std::uint64_t max_blocks = names::max_blocks(block_threads);
  if (!names::kSplitsLaunches && block_count > max_blocks)
    return failed(TERN_DEVICE_UNSUPPORTED, "a launch of more than 2^31 blocks");
  std::uint64_t first_block = 0;
  std::vector<void*> parameters(info->argument_count + 1);
  for (std::uint32_t i = 0; i < info->argument_count; ++i) parameters[i] = const_cast<void*>(info->arguments[i].data);
  parameters.back() = &first_block;  // read by HIP's kernels (kernels/portable/source.cpp)
  const TimedWork timed(*stream);
  do {
    const std::uint64_t blocks = std::min(block_count - first_block, max_blocks);
    TERN_GPU_TRY(checked(api().launch(kernel->function, static_cast<unsigned>(blocks), 1, 1, block_threads, 1, 1, 0,
                                      stream->current(), parameters.data(), nullptr),
                         "launching a kernel"));
    first_block += blocks;
  } while (first_block < block_count);
  return TERN_DEVICE_OK;
}

}  // namespace tern::gpu
