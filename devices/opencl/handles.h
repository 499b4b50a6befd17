// Definitions of the interface's handles.
#pragma once

#include <CL/cl.h>
#include <tern/device.h>

#include <mutex>
#include <vector>

namespace tern::opencl {
struct Recorded;
struct OpenClStreamProfile;
}  // namespace tern::opencl

struct tern_device_stream_s {
  cl_command_queue queue;
  tern::opencl::Recorded* recorded;            ///< graph recording the stream's work, if any
  tern::opencl::OpenClStreamProfile* profile;  ///< destination of command events while measured
};
struct tern_device_event_s {
  cl_event event;
};
struct tern_device_module_s {
  cl_program program;
  std::vector<tern_device_kernel> kernels;
};
struct tern_device_kernel_s {
  cl_kernel kernel;
  std::mutex mutex;  ///< guards the kernel object's arguments
};
