// Modules, functions, launches.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/gpu/hip/call.h"
#include "tests/gpu/hip/code_object.h"
#include "tests/gpu/hip/device_figures.h"
#include "tests/gpu/hip/settings.h"

using namespace tern::gpu::hip;

namespace {

// The dynamic loader needs a file with a new name: an equal name would mean the same library.
class LibraryFile {
 public:
  explicit LibraryFile(std::string_view bytes) {
    static std::uint64_t number = 0;  // under the machine's lock
    path_ = std::filesystem::temp_directory_path() /
            ("tern-code-object-" + std::to_string(getpid()) + '-' + std::to_string(number++) + ".so");
    std::ofstream file(path_, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) refuse(Status::operating_system, "a code object cannot be written to %s", path_.c_str());
  }
  ~LibraryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  LibraryFile(const LibraryFile&) = delete;
  LibraryFile& operator=(const LibraryFile&) = delete;
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void load(Machine& machine, hipModule_t* module, const void* image) {
  required(module, "module");
  const auto code = read_code_object(required(image, "image"));
  if (!code) refuse(Status::invalid_image, "the image is no code object of the emulator's hiprtc");
  if (code->architecture != architecture()) {
    refuse(Status::no_binary, "the code object is for %s, and the device is %s", code->architecture.c_str(),
           architecture().c_str());
  }
  machine.unsafe();
  const LibraryFile file(code->library);
  *module = pointer<hipModule_t>(machine.load(context(machine), tern::emulator::open_module(file.path())));
}

// The block of parameters, from pointers to each or as a whole.
std::vector<char> parameters(const tern_emulated_kernel& kernel, void** each, void** extra) {
  std::vector<char> block(kernel.parameter_bytes);
  if (each != nullptr && extra != nullptr)
    refuse(Status::invalid_value, "kernel %s: both kernelParams and extra are given", kernel.name);
  if (each != nullptr) {
    for (std::uint32_t i = 0; i < kernel.parameter_count; ++i) {
      if (each[i] == nullptr)
        refuse(Status::invalid_value, "kernel %s: the pointer to parameter %u is NULL", kernel.name, i);
      std::memcpy(block.data() + kernel.parameters[i].offset, each[i], kernel.parameters[i].size);
    }
    return block;
  }
  // "extra: Pointer to kernel arguments. These are passed directly to the kernel and must be in the memory layout and
  // alignment expected by the kernel": HIP_LAUNCH_PARAM_BUFFER_POINTER, p, HIP_LAUNCH_PARAM_BUFFER_SIZE, &n,
  // HIP_LAUNCH_PARAM_END.
  if (extra == nullptr) {
    if (kernel.parameter_count != 0)
      refuse(Status::invalid_value, "kernel %s: it has parameters, and none are given", kernel.name);
    return block;
  }
  if (extra[0] != HIP_LAUNCH_PARAM_BUFFER_POINTER || extra[2] != HIP_LAUNCH_PARAM_BUFFER_SIZE ||
      extra[4] != HIP_LAUNCH_PARAM_END) {
    refuse(Status::invalid_value, "kernel %s: extra is not buffer, size, end", kernel.name);
  }
  const std::size_t bytes = *static_cast<const std::size_t*>(extra[3]);
  if (bytes < block.size())
    refuse(Status::invalid_value, "kernel %s: %zu bytes of parameters; it has %zu", kernel.name, bytes, block.size());
  std::memcpy(block.data(), extra[1], block.size());
  return block;
}

}  // namespace

hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  return call(__func__, [&](Machine& machine) { load(machine, module, image); });
}
// "Options are not used. hipModuleLoadData is called."
hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned int, hipJitOption*, void**) {
  return call(__func__, [&](Machine& machine) { load(machine, module, image); });
}
// "module is freed and the code objects associated with it are destroyed".
hipError_t hipModuleUnload(hipModule_t module) {
  return call(__func__, [&](Machine& machine) {
    machine.unsafe();
    machine.unload(handle(module));
  });
}
hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  return call(__func__, [&](Machine& machine) {
    const std::uint64_t found = machine.function(handle(module), required(name, "kname"));
    machine.function(found)->most_dynamic = kLocalBytes;  // unless opted in
    *required(function, "function") = pointer<hipFunction_t>(found);
  });
}

hipError_t hipFuncGetAttribute(int* value, hipFunction_attribute attribute, hipFunction_t function) {
  return call(__func__, [&](Machine& machine) {
    const tern_emulated_kernel& kernel = *machine.function(handle(function))->kernel;
    const int most = kernel.most_threads == 0 ? kMostThreads : static_cast<int>(kernel.most_threads),
              local = static_cast<int>(kernel.local_bytes);
    required(value, "value");
    switch (attribute) {
      case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = most; break;
      case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = local; break;
      case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = kLocalBytes - local; break;
      case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = 0; break;
      case HIP_FUNC_ATTRIBUTE_NUM_REGS: *value = 32; break;
      default: refuse(Status::invalid_value, "attribute %d is not emulated", static_cast<int>(attribute));
    }
  });
}

// "HIP does not support kernel launch with total work items defined in dimension with size gridDim x blockDim >= 2^32."
hipError_t hipModuleLaunchKernel(hipFunction_t f, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                                 unsigned blockY, unsigned blockZ, unsigned local, hipStream_t stream, void** each,
                                 void** extra) {
  return call(__func__, [&](Machine& machine) {
    tern::emulator::Launch launch;
    launch.function = machine.function(handle(f));
    launch.module = launch.function->module.lock();
    const tern_emulated_kernel& kernel = *launch.function->kernel;
    const unsigned grid[3] = {gridX, gridY, gridZ}, block[3] = {blockX, blockY, blockZ};
    for (int i = 0; i < 3; ++i) {
      if (std::uint64_t{grid[i]} * block[i] >= 1ull << 32)
        refuse(Status::invalid_value, "kernel %s: %u blocks of %u threads along axis %d are 2^32 or more", kernel.name,
               grid[i], block[i], i);
      launch.grid[i] = grid[i];
      launch.block[i] = block[i];
    }
    if (std::uint64_t{local} + kernel.local_bytes > kLocalBytes) {
      refuse(Status::invalid_value,
             "kernel %s: %u bytes of dynamic local memory on top of %u of its own; a compute unit has %d", kernel.name,
             local, kernel.local_bytes, kLocalBytes);
    }
    launch.local_bytes = local;
    launch.parameters = parameters(kernel, each, extra);
    machine.launch(std::move(launch), handle(stream));
  });
}

// "determine the grid and block sizes to achieves maximum occupancy for a kernel".
hipError_t hipModuleOccupancyMaxPotentialBlockSize(int* gridSize, int* blockSize, hipFunction_t f, size_t dynamic,
                                                   int limit) {
  return call(__func__, [&](Machine& machine) {
    const tern_emulated_kernel& kernel = *machine.function(handle(f))->kernel;
    int threads = kernel.most_threads == 0 ? kMostThreads : static_cast<int>(kernel.most_threads);
    if (limit > 0) threads = std::min(threads, limit);
    const auto local = kernel.local_bytes + dynamic;
    int blocks = kThreadsOfUnit / threads;
    if (local > 0) blocks = std::min(blocks, static_cast<int>(kLocalBytes / local));
    if (blocks == 0) refuse(Status::invalid_value, "kernel %s: no block fits on a compute unit", kernel.name);
    *required(blockSize, "blockSize") = threads;
    *required(gridSize, "gridSize") = blocks * kComputeUnits;
  });
}
