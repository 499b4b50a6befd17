#include "devices/opencl/program.h"

#include <string>

#include "devices/opencl/status.h"
#include "devices/program_cache/program_cache.h"

namespace tern::opencl {
namespace {

/// Builds a cached binary; null if missing or refused.
cl_program from_cache(const OpenClDevice& d, const std::string& identity, const std::string& options) {
  const std::string binary = cached_program(identity);
  if (binary.empty()) return nullptr;
  const auto* data = reinterpret_cast<const unsigned char*>(binary.data());
  const std::size_t size = binary.size();
  cl_int error = CL_SUCCESS;
  cl_program program = clCreateProgramWithBinary(d.context, 1, &d.id, &size, &data, nullptr, &error);
  if (error != CL_SUCCESS) return nullptr;
  if (clBuildProgram(program, 1, &d.id, options.c_str(), nullptr, nullptr) == CL_SUCCESS) return program;
  clReleaseProgram(program);
  return nullptr;
}

void store_binary(cl_program program, const std::string& identity) {
  std::size_t size = 0;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) != CL_SUCCESS || size == 0)
    return;
  std::string binary(size, '\0');
  auto* data = reinterpret_cast<unsigned char*>(binary.data());
  if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof data, static_cast<void*>(&data), nullptr) == CL_SUCCESS)
    store_program(identity, binary);
}

std::string build_log(cl_program program, cl_device_id device) {
  std::size_t size = 0;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string log(size, '\0');
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  constexpr std::size_t kMost = 4000;
  return log.substr(0, kMost);
}

}  // namespace

tern_device_status build(const OpenClDevice& d, const tern_device_source& source, cl_program* program) {
  const bool is_spirv = source.dialect == TERN_DIALECT_SPIRV && d.create_of_spirv != nullptr;
  if (!is_spirv && source.dialect != TERN_DIALECT_OPENCL)
    return failed(TERN_DEVICE_UNSUPPORTED, d.create_of_spirv != nullptr ? "this device only takes OpenCL C and SPIR-V"
                                                                        : "this device only compiles OpenCL C");
  const std::string& options = is_spirv ? d.spirv_options : d.options;
  const std::string text(source.text, source.length);
  const std::string identity = d.name + "\n" + d.driver + "\n" + options + (is_spirv ? "\nSPIR-V\n" : "\n") + text;
  *program = from_cache(d, identity, options);
  if (*program != nullptr) return TERN_DEVICE_OK;
  const char* data = text.data();
  const std::size_t length = text.size();
  cl_int error = CL_SUCCESS;
  *program = is_spirv ? d.create_of_spirv(d.context, data, length, &error)
                      : clCreateProgramWithSource(d.context, 1, &data, &length, &error);
  if (error != CL_SUCCESS) return checked(error, is_spirv ? "clCreateProgramWithIL" : "clCreateProgramWithSource");
  if (clBuildProgram(*program, 1, &d.id, options.c_str(), nullptr, nullptr) != CL_SUCCESS) {
    const std::string log = build_log(*program, d.id);
    clReleaseProgram(*program);
    return failed(TERN_DEVICE_COMPILE, log.empty() ? "the compiler failed without a message" : log);
  }
  store_binary(*program, identity);
  return TERN_DEVICE_OK;
}

}  // namespace tern::opencl
