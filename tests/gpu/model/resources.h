// What a kernel takes of a multiprocessor: registers, spills, shared memory, and how many of its warps fit.
#pragma once

#include <cstdint>
#include <string>

namespace tern::gpu_model {

struct Resources {
  std::uint32_t registers = 0;
  std::uint32_t spill_bytes = 0;  // stores and loads of registers that did not fit, in the machine code of a thread
  std::uint32_t stack_bytes = 0;  // of a thread: arrays and spills
};

// The file of a folder that holds the text; writes it.
std::string kept_text(const std::string& ptx, const std::string& cache);

// Those of ptxas for compute capability 9.0, which translates the PTX as the driver does. Kept in the folder
// `cache`. Fails (tern::Error) with ptxas's messages. `ptxas`: its path.
Resources resources_of(const std::string& ptx, const std::string& kernel, const std::string& ptxas,
                       const std::string& cache);

// Of an H100: warps that are resident at once, as a part of 64, by NVIDIA's cuda_occupancy.h. 0 if a block does not
// fit.
double occupancy(const Resources& resources, std::uint32_t threads, std::uint32_t static_bytes,
                 std::uint32_t dynamic_bytes);

}  // namespace tern::gpu_model
