#include "tests/gpu/cuda/launch.h"

#include <algorithm>
#include <cstring>

#include "tests/gpu/machine/properties.h"

namespace tern::emulator::cuda {
namespace {

// "The list must be terminated with either NULL or CU_LAUNCH_PARAM_END."
void read_buffer(void** extra, std::vector<char>& block) {
  const char* buffer = nullptr;
  const size_t* bytes = nullptr;
  for (void** at = extra; *at != nullptr && *at != CU_LAUNCH_PARAM_END; at += 2) {
    if (*at == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = static_cast<const char*>(at[1]);
    } else if (*at == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      bytes = static_cast<const size_t*>(at[1]);
    } else {
      refuse(Status::invalid_value, "extra has an unknown name");
    }
  }
  if (buffer == nullptr || bytes == nullptr || *bytes != block.size()) {
    refuse(Status::invalid_value, "extra has %zu bytes of parameters; the kernel has %zu", bytes ? *bytes : 0,
           block.size());
  }
  std::copy_n(buffer, *bytes, block.begin());
}

}  // namespace

Launch launch_of(Machine& machine, CUfunction handle, const unsigned (&grid)[3], const unsigned (&block)[3],
                 unsigned local_bytes, void** parameters, void** extra) {
  Launch launch;
  launch.function = machine.function(number(handle));
  launch.module = launch.function->module.lock();
  const tern_emulated_kernel& kernel = *launch.function->kernel;
  std::copy_n(grid, 3, launch.grid);
  std::copy_n(block, 3, launch.block);
  launch.local_bytes = local_bytes;
  launch.parameters.resize(kernel.parameter_bytes);
  if (parameters != nullptr && extra != nullptr) {
    refuse(Status::invalid_value, "parameters are given both by kernelParams and by extra");
  }
  if (extra != nullptr) {
    read_buffer(extra, launch.parameters);
  } else {
    for (uint32_t i = 0; i < kernel.parameter_count; ++i) {
      if (parameters == nullptr || parameters[i] == nullptr) {
        refuse(Status::invalid_value, "kernel %s: parameter %u of %u is null", kernel.name, i, kernel.parameter_count);
      }
      std::memcpy(&launch.parameters[kernel.parameters[i].offset], parameters[i], kernel.parameters[i].size);
    }
  }
  return launch;
}

}  // namespace tern::emulator::cuda

using namespace tern::emulator;
using namespace tern::emulator::cuda;

namespace {

uint64_t blocks_of(const Function& function, int threads, size_t dynamic) {
  const Properties& p = properties();
  const uint64_t warps = (static_cast<uint64_t>(threads) + p.warp - 1) / p.warp * p.warp;
  const uint64_t local = function.kernel->local_bytes + dynamic + p.local_bytes_reserved;
  return std::min({uint64_t{p.blocks_processor}, p.threads_processor / warps,
                   p.registers / (warps * p.registers_thread), p.local_bytes_processor / local});
}

uint64_t most_threads(const Function& function) {
  return function.kernel->most_threads != 0 ? function.kernel->most_threads : properties().most_threads;
}

}  // namespace

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                                unsigned int block_x, unsigned int block_y, unsigned int block_z,
                                unsigned int local_bytes, CUstream stream, void** parameters, void** extra) {
  return call("cuLaunchKernel", 4000, [&](Machine& machine) {
    machine.current();
    machine.launch(launch_of(machine, function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, local_bytes,
                             parameters, extra),
                   number(stream));
  });
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  return call("cuLaunchKernelEx", 11060, [&](Machine& machine) {
    machine.current();
    const CUlaunchConfig& c = require(config, "config");
    for (unsigned i = 0; i < c.numAttrs; ++i) {
      require(c.attrs, "config->attrs");
      const CUlaunchAttributeID id = c.attrs[i].id;
      if (id != CU_LAUNCH_ATTRIBUTE_IGNORE && id != CU_LAUNCH_ATTRIBUTE_PRIORITY) {
        refuse(Status::not_supported, "launch attribute %d is not emulated", static_cast<int>(id));
      }
    }
    machine.launch(launch_of(machine, function, {c.gridDimX, c.gridDimY, c.gridDimZ},
                             {c.blockDimX, c.blockDimY, c.blockDimZ}, c.sharedMemBytes, parameters, extra),
                   number(c.hStream));
  });
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                             size_t dynamic) {
  return call("cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050, [&](Machine& machine) {
    machine.current();
    const auto f = machine.function(number(function));
    if (threads <= 0 || static_cast<uint64_t>(threads) > most_threads(*f)) {
      refuse(Status::invalid_value, "a block of %d threads", threads);
    }
    require(blocks, "numBlocks") = static_cast<int>(blocks_of(*f, threads, dynamic));
  });
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function,
                                                  CUoccupancyB2DSize dynamic_of, size_t dynamic, int limit) {
  return call("cuOccupancyMaxPotentialBlockSize", 6050, [&](Machine& machine) {
    machine.current();
    const auto f = machine.function(number(function));
    const int most = static_cast<int>(most_threads(*f));
    const int largest = limit > 0 ? std::min(limit, most) : most;
    uint64_t best = 0;
    for (int threads = largest; threads > 0; threads -= 32) {
      const size_t bytes = dynamic_of != nullptr ? dynamic_of(threads) : dynamic;
      const uint64_t blocks = blocks_of(*f, threads, bytes);
      if (blocks * threads <= best) continue;
      best = blocks * threads;
      require(block, "blockSize") = threads;
      require(grid, "minGridSize") = static_cast<int>(blocks * properties().multiprocessors);
    }
  });
}
