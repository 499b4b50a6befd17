#include "tests/gpu/cuda/call.h"

#include <cstdio>
#include <cstring>
#include <string>

#include "tests/gpu/machine/settings.h"

namespace tern::emulator {
namespace {

thread_local const char* current = "";
thread_local std::string why;

}  // namespace

const char* current_call() {
  return current;
}

namespace cuda {
namespace {

constexpr std::pair<Status, CUresult> kCodes[] = {
    {Status::ok, CUDA_SUCCESS},
    {Status::invalid_value, CUDA_ERROR_INVALID_VALUE},
    {Status::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY},
    {Status::not_initialized, CUDA_ERROR_NOT_INITIALIZED},
    {Status::no_device, CUDA_ERROR_NO_DEVICE},
    {Status::invalid_device, CUDA_ERROR_INVALID_DEVICE},
    {Status::device_unavailable, CUDA_ERROR_DEVICE_UNAVAILABLE},
    {Status::invalid_context, CUDA_ERROR_INVALID_CONTEXT},
    {Status::context_destroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED},
    {Status::invalid_handle, CUDA_ERROR_INVALID_HANDLE},
    {Status::illegal_state, CUDA_ERROR_ILLEGAL_STATE},
    {Status::not_ready, CUDA_ERROR_NOT_READY},
    {Status::not_found, CUDA_ERROR_NOT_FOUND},
    {Status::not_supported, CUDA_ERROR_NOT_SUPPORTED},
    {Status::invalid_image, CUDA_ERROR_INVALID_IMAGE},
    {Status::no_binary, CUDA_ERROR_NO_BINARY_FOR_GPU},
    {Status::invalid_text, CUDA_ERROR_INVALID_PTX},
    {Status::newer_text, CUDA_ERROR_UNSUPPORTED_PTX_VERSION},
    {Status::operating_system, CUDA_ERROR_OPERATING_SYSTEM},
    {Status::out_of_resources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES},
    {Status::stream_detached, CUDA_ERROR_STREAM_DETACHED},
    {Status::invalid_resource_type, CUDA_ERROR_INVALID_RESOURCE_TYPE},
    {Status::invalid_resource_configuration, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION},
    {Status::lossy_query, CUDA_ERROR_LOSSY_QUERY},
    {Status::capture_unsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
    {Status::capture_invalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED},
    {Status::capture_merge, CUDA_ERROR_STREAM_CAPTURE_MERGE},
    {Status::capture_unmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED},
    {Status::capture_unjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED},
    {Status::capture_isolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION},
    {Status::capture_implicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT},
    {Status::capture_wrong_thread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD},
    {Status::captured_event, CUDA_ERROR_CAPTURED_EVENT},
    {Status::peer_unsupported, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED},
    {Status::peer_enabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED},
    {Status::update_failure, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE},
    {Status::unknown, CUDA_ERROR_UNKNOWN},
};

// Error of each function for an injected failure: a real device's error.
constexpr std::pair<const char*, Status> kFailures[] = {
    {"cuInit", Status::no_device},
    {"cuDriverGetVersion", Status::invalid_value},
    {"cuDeviceGetCount", Status::not_initialized},
    {"cuDeviceGet", Status::invalid_device},
    {"cuModuleLoadData", Status::no_binary},
    {"cuModuleLoadDataEx", Status::invalid_text},
    {"cuModuleGetFunction", Status::not_found},
    {"cuLaunchKernel", Status::out_of_resources},
    {"cuLaunchKernelEx", Status::out_of_resources},
    {"cuFuncSetAttribute", Status::invalid_value},
    {"cuFuncGetAttribute", Status::invalid_value},
    {"cuStreamEndCapture", Status::capture_invalidated},
    {"cuDeviceGetDevResource", Status::not_supported},
    {"cuGreenCtxCreate", Status::not_supported},
};

bool works_before_init(const char* name) {
  return std::strcmp(name, "cuInit") == 0 || std::strcmp(name, "cuDriverGetVersion") == 0 ||
         std::strcmp(name, "cuGetProcAddress_v2") == 0;
}

Status failure_of(const char* name) {
  for (const auto& [function, status] : kFailures) {
    if (std::strcmp(function, name) == 0) return status;
  }
  // Most functions create something, or report a failure of earlier work.
  const std::string text = name;
  for (const char* creates : {"Alloc", "Create", "Reserve", "Map", "Retain", "Add", "Instantiate", "Begin"}) {
    if (text.find(creates) != std::string::npos) return Status::out_of_memory;
  }
  return Status::unknown;
}

}  // namespace

CUresult code_of(Status status) {
  for (const auto& [key, code] : kCodes) {
    if (key == status) return code;
  }
  return CUDA_ERROR_UNKNOWN;
}

int driver_version() {
  return settings().driver != 0 ? settings().driver : CUDA_VERSION;
}

Call::Call(const char* name, int since)
    : lock_(Machine::get().lock), name_(name), outer_(std::exchange(current, name)) {
  Counters& counters = Machine::get().counters;
  if (counters.call(name)) {
    refused_ = finish({failure_of(name), "a test asked for this failure"});
  } else if (since > driver_version()) {
    refused_ = finish({Status::illegal_state, "a driver of version " + std::to_string(driver_version()) +
                                                  " does not have it: version " + std::to_string(since) + " does"});
  } else if (!Machine::get().initialized() && !works_before_init(name)) {
    // cuInit: "If cuInit() has not been called, any function from the driver API will return
    // CUDA_ERROR_NOT_INITIALIZED."
    refused_ = finish({Status::not_initialized, "cuInit was not called"});
  }
}

Call::~Call() {
  current = outer_;
}

CUresult Call::finish(const Failure& failure) const {
  why = std::string(name_) + ": " + failure.why;
  if (failure.status != Status::not_ready) {
    Machine::get().counters.refused(name_, is_mistake(failure.status) && failure.why.find("a test asked") != 0);
    if (settings().log) std::fprintf(stderr, "emulated GPU: %s\n", why.c_str());
  }
  return code_of(failure.status);
}

const std::string& last_why() {
  return why;
}

}  // namespace cuda
}  // namespace tern::emulator
