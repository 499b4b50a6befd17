// The OpenCL devices of this machine that Tern can use: those with shared virtual memory, so that an address is a
// number.
#pragma once

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <tern/device.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tern::opencl {

struct OpenClDevice {
  cl_device_id id = nullptr;
  cl_context context = nullptr;
  std::string name, driver;  ///< driver: everything that decides what a compiled program is
  bool has_double = false;
  bool host_memory = false;     ///< kernels read all the host's memory
  bool unified_memory = false;  ///< its memory is the host's
  cl_ulong memory = 0;
  cl_uint units = 0;
  cl_uint vector_floats = 0;                              ///< of a CPU
  bool groups = false;                                    ///< items of a group gain by working together
  std::string options;                                    ///< for the compiler
  std::string spirv_options;                              ///< for what the driver makes of SPIR-V
  clCreateProgramWithILKHR_fn create_of_spirv = nullptr;  ///< null where it takes none
};

/// Found at the first call. `why_none` says what is wrong where there are none.
const std::vector<OpenClDevice>& devices(std::string* why_none = nullptr);
/// That of the index, or null, after failing.
const OpenClDevice* find(std::int32_t device);

}  // namespace tern::opencl
