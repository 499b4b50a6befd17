// A kernel's use of a multiprocessor: registers, spills, shared memory, and the number of resident warps.
#pragma once

#include <cstdint>
#include <string>

namespace tern::gpu_model {

struct Resources {
  std::uint32_t registers = 0;
  std::uint32_t spill_bytes = 0;  // register spills and reloads in the machine code of a thread
  std::uint32_t stack_bytes = 0;  // per thread: arrays and spills
};

// Writes the source into the folder, and returns its file name.
std::string kept_text(const std::string& ptx, const std::string& cache);

// Resources from ptxas for compute capability 9.0, which compiles PTX like the driver. Cached in the folder `cache`.
// Throws tern::Error with ptxas's messages. `ptxas`: its path.
Resources resources_of(const std::string& ptx, const std::string& kernel, const std::string& ptxas,
                       const std::string& cache);

// Occupancy of an H100: the fraction of 64 resident warps, by NVIDIA's cuda_occupancy.h. 0 if a block does not fit.
double occupancy(const Resources& resources, std::uint32_t threads, std::uint32_t static_bytes,
                 std::uint32_t dynamic_bytes);

}  // namespace tern::gpu_model
