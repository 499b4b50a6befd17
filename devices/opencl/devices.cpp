#include "devices/opencl/devices.h"

#include <algorithm>

#include "devices/opencl/status.h"
#include "platform/environment.h"

namespace tern::opencl {
namespace {

std::string text(cl_device_id device, cl_device_info what) {
  std::size_t size = 0;
  if (clGetDeviceInfo(device, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string value(size, '\0');
  clGetDeviceInfo(device, what, size, value.data(), nullptr);
  value.resize(value.find('\0') == std::string::npos ? size : value.find('\0'));
  return value;
}

template <class T>
T number(cl_device_id device, cl_device_info what) {
  T value{};
  clGetDeviceInfo(device, what, sizeof value, &value, nullptr);
  return value;
}

std::string platform_version(cl_device_id device) {
  const auto platform = number<cl_platform_id>(device, CL_DEVICE_PLATFORM);
  char version[256] = {};
  clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof version - 1, version, nullptr);
  return version;
}

struct FoundOpenClDevices {
  std::vector<OpenClDevice> devices;
  std::string why_none;
};

/// Returns the function creating programs from SPIR-V; null if unsupported.
clCreateProgramWithILKHR_fn spirv_function(cl_device_id device) {
  if (text(device, CL_DEVICE_IL_VERSION).find("SPIR-V_1.") == std::string::npos) return nullptr;
  const auto platform = number<cl_platform_id>(device, CL_DEVICE_PLATFORM);
  void* extension = clGetExtensionFunctionAddressForPlatform(platform, "clCreateProgramWithILKHR");
  return extension != nullptr ? reinterpret_cast<clCreateProgramWithILKHR_fn>(extension) : clCreateProgramWithIL;
}

/// Returns false for CPUs: items of a group run in turn between barriers, so groups cost time there. A test enables
/// groups nevertheless.
bool has_groups(cl_device_id device) {
  constexpr cl_ulong kLocalBytes = 32 << 10;
  constexpr std::size_t kItems = 256;
  if (number<cl_ulong>(device, CL_DEVICE_LOCAL_MEM_SIZE) < kLocalBytes ||
      number<std::size_t>(device, CL_DEVICE_MAX_WORK_GROUP_SIZE) < kItems)
    return false;
  const bool is_cpu = (number<cl_device_type>(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  return platform::variable_is_on("TERN_XPU_GROUPS", !is_cpu);
}

/// Returns an empty string if the device is usable.
std::string add(cl_device_id id, FoundOpenClDevices& found) {
  OpenClDevice d;
  d.id = id;
  d.name = text(id, CL_DEVICE_NAME);
  const auto svm = number<cl_device_svm_capabilities>(id, CL_DEVICE_SVM_CAPABILITIES);
  if ((svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) == 0) return d.name + " has no shared virtual memory";
  if (number<cl_bool>(id, CL_DEVICE_ENDIAN_LITTLE) == CL_FALSE) return d.name + " is not little-endian";
  if (number<cl_bool>(id, CL_DEVICE_COMPILER_AVAILABLE) == CL_FALSE) return d.name + " has no compiler";
  cl_int error = CL_SUCCESS;
  d.context = clCreateContext(nullptr, 1, &id, nullptr, nullptr, &error);
  if (checked(error, "making a context") != TERN_DEVICE_OK) return d.name + ": " + message();
  d.driver = platform_version(id) + ", " + text(id, CL_DEVICE_VERSION) + ", " + text(id, CL_DRIVER_VERSION);
  d.has_double = number<cl_device_fp_config>(id, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
  d.host_memory = (svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) != 0;
  d.unified_memory = number<cl_bool>(id, CL_DEVICE_HOST_UNIFIED_MEMORY) == CL_TRUE;
  d.memory = number<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE);
  d.units = number<cl_uint>(id, CL_DEVICE_MAX_COMPUTE_UNITS);
  if ((number<cl_device_type>(id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0)
    d.vector_floats = number<cl_uint>(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
  d.groups = has_groups(id);
  if ((number<cl_device_fp_config>(id, CL_DEVICE_SINGLE_FP_CONFIG) & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0)
    d.spirv_options = "-cl-fp32-correctly-rounded-divide-sqrt";
  d.options = "-cl-std=CL1.2 " + d.spirv_options;
  d.create_of_spirv = spirv_function(id);
  found.devices.push_back(std::move(d));
  return {};
}

FoundOpenClDevices find() {
  FoundOpenClDevices found;
  cl_uint count = 0;
  const cl_int error = clGetPlatformIDs(0, nullptr, &count);
  if (error != CL_SUCCESS || count == 0) {
    found.why_none =
        "no OpenCL platform is installed: install a driver (pocl-opencl-icd for the CPU), or set "
        "OCL_ICD_VENDORS to a folder with the .icd file of one";
    return found;
  }
  std::vector<cl_platform_id> platforms(count);
  clGetPlatformIDs(count, platforms.data(), nullptr);
  for (cl_platform_id platform : platforms) {
    cl_uint n = 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &n) != CL_SUCCESS) continue;
    std::vector<cl_device_id> ids(n);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, n, ids.data(), nullptr);
    for (cl_device_id id : ids) {
      const std::string why_not = add(id, found);
      if (!why_not.empty()) found.why_none += (found.why_none.empty() ? "" : "; ") + why_not;
    }
  }
  if (found.devices.empty() && found.why_none.empty()) found.why_none = "the OpenCL platforms have no devices";
  return found;
}

}  // namespace

const std::vector<OpenClDevice>& devices(std::string* why_none) {
  static const FoundOpenClDevices found = find();
  if (why_none != nullptr) *why_none = found.why_none;
  return found.devices;
}

const OpenClDevice* find(std::int32_t device) {
  const auto& all = devices();
  if (device >= 0 && static_cast<std::size_t>(device) < all.size()) return &all[static_cast<std::size_t>(device)];
  failed(TERN_DEVICE_INVALID, "there is no device " + std::to_string(device));
  return nullptr;
}

}  // namespace tern::opencl
