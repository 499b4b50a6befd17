#include "devices/opencl/graph.h"

#include <CL/cl_ext.h>

#include <map>
#include <mutex>
#include <string>
#include <type_traits>

#include "devices/opencl/status.h"
#include "platform/environment.h"

namespace tern::opencl {

/// A platform's functions of the extension; `create` is null if unsupported.
struct CommandBuffers {
  clCreateCommandBufferKHR_fn create = nullptr;
  clFinalizeCommandBufferKHR_fn finalize = nullptr;
  clReleaseCommandBufferKHR_fn release = nullptr;
  clEnqueueCommandBufferKHR_fn enqueue = nullptr;
  clCommandNDRangeKernelKHR_fn launch = nullptr;
};

struct Recorded {
  const CommandBuffers& functions;
  cl_command_buffer_khr buffer = nullptr;
  cl_sync_point_khr last = 0;  ///< sync point of the previous command; the next command waits there
  cl_uint commands = 0;
  bool spoilt = false;
};

}  // namespace tern::opencl

struct tern_device_graph_s {
  const tern::opencl::CommandBuffers& functions;
  cl_command_buffer_khr buffer;
  cl_event run;  ///< event of the last run: a command buffer runs once at a time
};

namespace tern::opencl {
namespace {

/// Copies by a kernel: some drivers with command buffers do not support copies of shared virtual memory in them.
constexpr const char* kCopies = R"(
__kernel void copy_words(__global ulong* to, __global const ulong* from) {
  to[get_global_id(0)] = from[get_global_id(0)];
}
__kernel void copy_bytes(__global uchar* to, __global const uchar* from) {
  to[get_global_id(0)] = from[get_global_id(0)];
}
)";

struct Copies {
  cl_kernel words = nullptr, bytes = nullptr;
  std::mutex mutex;  ///< guards the kernel object's arguments
};

Copies& copies_of(const OpenClDevice& d) {
  static std::mutex mutex;
  static std::map<const OpenClDevice*, Copies> made;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = made.try_emplace(&d);
  Copies& copies = at->second;
  if (!is_new) return copies;
  cl_int error = CL_SUCCESS;
  const char* text = kCopies;
  cl_program program = clCreateProgramWithSource(d.context, 1, &text, nullptr, &error);
  if (error != CL_SUCCESS || clBuildProgram(program, 1, &d.id, "", nullptr, nullptr) != CL_SUCCESS) return copies;
  copies.words = clCreateKernel(program, "copy_words", &error);
  copies.bytes = clCreateKernel(program, "copy_bytes", &error);
  return copies;
}

/// True if replays of a command buffer are correct: PoCL 3.1 replays kernels without their recorded shared virtual
/// memory arguments.
bool replays_rightly(const OpenClDevice& d, const CommandBuffers& f) {
  const cl_kernel kernel = copies_of(d).words;
  cl_int error = CL_SUCCESS;
  const cl_command_queue queue = clCreateCommandQueueWithProperties(d.context, d.id, nullptr, &error);
  auto* words = static_cast<cl_ulong*>(clSVMAlloc(d.context, CL_MEM_READ_WRITE, 3 * sizeof(cl_ulong), 0));
  bool right = kernel != nullptr && error == CL_SUCCESS && words != nullptr;
  const cl_command_buffer_khr buffer = right ? f.create(1, &queue, nullptr, &error) : nullptr;
  const std::size_t one = 1;
  const auto record = [&](int to, int from) {
    return clSetKernelArgSVMPointer(kernel, 0, words + to) == CL_SUCCESS &&
           clSetKernelArgSVMPointer(kernel, 1, words + from) == CL_SUCCESS &&
           f.launch(buffer, nullptr, nullptr, kernel, 1, nullptr, &one, &one, 0, nullptr, nullptr, nullptr) ==
               CL_SUCCESS;
  };
  right = right && error == CL_SUCCESS && record(1, 0) && record(2, 1) && f.finalize(buffer) == CL_SUCCESS;
  for (cl_ulong value = 1; right && value < 3; ++value) {
    const cl_ulong before[] = {value, 0, 0};
    cl_ulong after[3] = {};
    right = clEnqueueSVMMemcpy(queue, CL_TRUE, words, before, sizeof before, 0, nullptr, nullptr) == CL_SUCCESS &&
            f.enqueue(1, const_cast<cl_command_queue*>(&queue), buffer, 0, nullptr, nullptr) == CL_SUCCESS &&
            clEnqueueSVMMemcpy(queue, CL_TRUE, after, words, sizeof after, 0, nullptr, nullptr) == CL_SUCCESS &&
            after[1] == value && after[2] == value;
  }
  if (buffer != nullptr) f.release(buffer);
  if (words != nullptr) clSVMFree(d.context, words);
  if (queue != nullptr) clReleaseCommandQueue(queue);
  return right;
}

/// True if kernels of this file may be compiled, too.
bool may_compile() {
  return !platform::variable_is_on("TERN_NO_COMPILE", false);
}

CommandBuffers find_functions(const OpenClDevice& d) {
  CommandBuffers f;
  if (!may_compile()) return f;
  std::size_t size = 0;
  clGetDeviceInfo(d.id, CL_DEVICE_EXTENSIONS, 0, nullptr, &size);
  std::string extensions(size, '\0');
  clGetDeviceInfo(d.id, CL_DEVICE_EXTENSIONS, size, extensions.data(), nullptr);
  extensions.resize(extensions.find_last_not_of('\0') + 1);
  if ((" " + extensions + " ").find(" cl_khr_command_buffer ") == std::string::npos) return f;
  cl_platform_id platform = nullptr;
  clGetDeviceInfo(d.id, CL_DEVICE_PLATFORM, sizeof(cl_platform_id), static_cast<void*>(&platform), nullptr);
  const auto look = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        clGetExtensionFunctionAddressForPlatform(platform, name));
    return function != nullptr;
  };
  const bool all = look(f.create, "clCreateCommandBufferKHR") && look(f.finalize, "clFinalizeCommandBufferKHR") &&
                   look(f.release, "clReleaseCommandBufferKHR") && look(f.enqueue, "clEnqueueCommandBufferKHR") &&
                   look(f.launch, "clCommandNDRangeKernelKHR");
  return all && replays_rightly(d, f) ? f : CommandBuffers();
}

const CommandBuffers& functions_of(const OpenClDevice& d) {
  static std::mutex mutex;
  static std::map<const OpenClDevice*, CommandBuffers> found;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = found.try_emplace(&d);
  if (is_new) at->second = find_functions(d);
  return at->second;
}

tern_device_status begin(std::int32_t device, tern_device_stream stream) {
  const OpenClDevice* d = find(device);
  if (d == nullptr) return TERN_DEVICE_INVALID;
  const CommandBuffers& f = functions_of(*d);
  if (f.create == nullptr) return failed(TERN_DEVICE_UNSUPPORTED, "the driver has no command buffers");
  cl_int error = CL_SUCCESS;
  const cl_command_buffer_khr buffer = f.create(1, &stream->queue, nullptr, &error);
  if (error != CL_SUCCESS) return failed(TERN_DEVICE_UNSUPPORTED, "the driver cannot create a command buffer");
  stream->recorded = new Recorded{f, buffer};
  return TERN_DEVICE_OK;
}

tern_device_status end(std::int32_t, tern_device_stream stream, tern_device_graph* graph) {
  const Recorded r = *stream->recorded;
  delete stream->recorded;
  stream->recorded = nullptr;
  const bool kept = graph != nullptr && !r.spoilt && r.commands > 0 && r.functions.finalize(r.buffer) == CL_SUCCESS;
  if (kept) {
    *graph = new tern_device_graph_s{r.functions, r.buffer, nullptr};
    return TERN_DEVICE_OK;
  }
  r.functions.release(r.buffer);
  return failed(TERN_DEVICE_UNSUPPORTED, "the command buffer does not support this command");
}

tern_device_status wait_for(tern_device_graph graph) {
  if (graph->run == nullptr) return TERN_DEVICE_OK;
  const cl_int error = clWaitForEvents(1, &graph->run);
  clReleaseEvent(graph->run);
  graph->run = nullptr;
  return checked(error, "clWaitForEvents");
}

tern_device_status launch(std::int32_t, tern_device_stream stream, tern_device_graph graph) {
  if (const tern_device_status status = wait_for(graph); status != TERN_DEVICE_OK) return status;
  return checked(graph->functions.enqueue(1, &stream->queue, graph->buffer, 0, nullptr, &graph->run),
                 "clEnqueueCommandBufferKHR");
}

tern_device_status destroy(std::int32_t, tern_device_graph graph) {
  const tern_device_status status = wait_for(graph);
  graph->functions.release(graph->buffer);
  delete graph;
  return status;
}

constexpr tern_device_graph_functions kGraphs = {sizeof kGraphs, 0, begin, end, launch, destroy, nullptr};

}  // namespace

const tern_device_graph_functions* graph_functions() {
  return &kGraphs;
}

tern_device_status record_launch(tern_device_stream_s& stream, cl_kernel kernel, std::size_t items, std::size_t group) {
  Recorded& r = *stream.recorded;
  if (r.spoilt) return TERN_DEVICE_OK;
  const cl_sync_point_khr before = r.last;
  const cl_int error = r.functions.launch(r.buffer, nullptr, nullptr, kernel, 1, nullptr, &items, &group,
                                          r.commands > 0 ? 1 : 0, r.commands > 0 ? &before : nullptr, &r.last, nullptr);
  r.spoilt = error != CL_SUCCESS;
  ++r.commands;
  return TERN_DEVICE_OK;
}

tern_device_status record_copy(const OpenClDevice& device, tern_device_stream_s& stream, tern_device_address to,
                               tern_device_address from, std::uint64_t bytes) {
  Copies& copies = copies_of(device);
  const bool words = (to | from | bytes) % sizeof(cl_ulong) == 0;
  const cl_kernel kernel = words ? copies.words : copies.bytes;
  const std::lock_guard lock(copies.mutex);
  if (kernel == nullptr || clSetKernelArgSVMPointer(kernel, 0, reinterpret_cast<void*>(to)) != CL_SUCCESS ||
      clSetKernelArgSVMPointer(kernel, 1, reinterpret_cast<void*>(from)) != CL_SUCCESS) {
    stream.recorded->spoilt = true;
    return TERN_DEVICE_OK;
  }
  const std::size_t items = words ? bytes / sizeof(cl_ulong) : bytes;
  std::size_t group = 1;
  while (group < 64 && items % (group * 2) == 0) group *= 2;
  return record_launch(stream, kernel, items, group);
}

}  // namespace tern::opencl
