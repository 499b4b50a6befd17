#include "devices/opencl/status.h"

namespace tern::opencl {
namespace {

// Errors seen in practice: X(name).
#define TERN_CL_ERRORS(X)                         \
  X(CL_DEVICE_NOT_FOUND)                          \
  X(CL_DEVICE_NOT_AVAILABLE)                      \
  X(CL_COMPILER_NOT_AVAILABLE)                    \
  X(CL_MEM_OBJECT_ALLOCATION_FAILURE)             \
  X(CL_OUT_OF_RESOURCES)                          \
  X(CL_OUT_OF_HOST_MEMORY)                        \
  X(CL_BUILD_PROGRAM_FAILURE)                     \
  X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) \
  X(CL_INVALID_VALUE)                             \
  X(CL_INVALID_DEVICE)                            \
  X(CL_INVALID_CONTEXT)                           \
  X(CL_INVALID_COMMAND_QUEUE)                     \
  X(CL_INVALID_BINARY)                            \
  X(CL_INVALID_BUILD_OPTIONS)                     \
  X(CL_INVALID_PROGRAM_EXECUTABLE)                \
  X(CL_INVALID_KERNEL_NAME)                       \
  X(CL_INVALID_ARG_INDEX)                         \
  X(CL_INVALID_ARG_VALUE)                         \
  X(CL_INVALID_ARG_SIZE)                          \
  X(CL_INVALID_KERNEL_ARGS)                       \
  X(CL_INVALID_WORK_GROUP_SIZE)                   \
  X(CL_INVALID_BUFFER_SIZE)                       \
  X(CL_INVALID_OPERATION)

std::string name_of(cl_int error) {
#define TERN_CL_NAME(name) \
  if (error == name) return #name;
  TERN_CL_ERRORS(TERN_CL_NAME)
#undef TERN_CL_NAME
#undef TERN_CL_ERRORS
  if (error == -1001) return "no OpenCL platform is installed (CL_PLATFORM_NOT_FOUND_KHR)";
  return "OpenCL error " + std::to_string(error);
}

}  // namespace

std::string& message() {
  thread_local std::string text;
  return text;
}

tern_device_status checked(cl_int error, const char* what) {
  if (error == CL_SUCCESS) return TERN_DEVICE_OK;
  const bool memory = error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_HOST_MEMORY;
  return failed(memory ? TERN_DEVICE_OUT_OF_MEMORY : TERN_DEVICE_FAILED, std::string(what) + ": " + name_of(error));
}

}  // namespace tern::opencl
