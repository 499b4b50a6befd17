// Usable OpenCL devices of this machine: devices with shared virtual memory, so that addresses are numbers.
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
  std::string name, driver;  ///< driver: every property affecting compiled programs
  bool has_double = false;
  bool host_memory = false;     ///< kernels can read all host memory
  bool unified_memory = false;  ///< memory is shared with the host
  cl_ulong memory = 0;
  cl_uint units = 0;
  cl_uint vector_floats = 0;                              ///< vector width of a CPU
  bool groups = false;                                    ///< work-items profit from cooperation
  std::string options;                                    ///< compiler options
  std::string spirv_options;                              ///< options for programs created from SPIR-V
  clCreateProgramWithILKHR_fn create_of_spirv = nullptr;  ///< null if SPIR-V is unsupported
};

/// Finds the devices at the first call. `why_none` receives the reason for an empty list.
const std::vector<OpenClDevice>& devices(std::string* why_none = nullptr);
/// Returns the device of the index; null after a failure.
const OpenClDevice* find(std::int32_t device);

}  // namespace tern::opencl
