// The plugin `xpu`: OpenCL devices with shared virtual memory. Kernels are OpenCL C 1.2 source, or SPIR-V compiled from
// such source.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "devices/opencl/devices.h"
#include "devices/opencl/graph.h"
#include "devices/opencl/handles.h"
#include "devices/opencl/pinned_memory.h"
#include "devices/opencl/profiler.h"
#include "devices/opencl/program.h"
#include "devices/opencl/status.h"

using namespace tern::opencl;

namespace {

constexpr std::uint64_t kGroup = 64;  // items of a work-group: divides any number of items evenly enough

void* pointer(tern_device_address a) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(a));
}

const char* last_message() {
  return message().c_str();
}

tern_device_status count(std::int32_t* n) {
  std::string why;
  *n = static_cast<std::int32_t>(devices(&why).size());
  return *n == 0 ? failed(TERN_DEVICE_FAILED, why) : TERN_DEVICE_OK;
}

tern_device_status properties(std::int32_t device, tern_device_properties* p) {
  const OpenClDevice* d = find(device);
  if (d == nullptr) return TERN_DEVICE_INVALID;
  tern_device_properties mine{};
  mine.size = std::min<std::uint32_t>(p->size, sizeof mine);
  mine.dialect = TERN_DIALECT_OPENCL;
  mine.features = (d->has_double ? TERN_DEVICE_DOUBLE : 0) | (d->host_memory ? TERN_DEVICE_HOST_MEMORY : 0) |
                  (d->create_of_spirv != nullptr ? TERN_DEVICE_SPIRV : 0) | (d->groups ? TERN_DEVICE_GROUPS : 0);
  mine.memory_bytes = d->memory;
  mine.units = d->units;
  mine.vector_floats = d->vector_floats;
  std::strncpy(mine.name, d->name.c_str(), sizeof mine.name - 1);
  std::strncpy(mine.driver, d->driver.c_str(), sizeof mine.driver - 1);
  std::memcpy(p, &mine, mine.size);
  return TERN_DEVICE_OK;
}

tern_device_status allocate(std::int32_t device, std::uint64_t bytes, tern_device_address* address) {
  const OpenClDevice* d = find(device);
  if (d == nullptr) return TERN_DEVICE_INVALID;
  void* p = clSVMAlloc(d->context, CL_MEM_READ_WRITE, bytes, 0);
  if (p == nullptr)
    return failed(TERN_DEVICE_OUT_OF_MEMORY,
                  std::to_string(bytes) + " bytes of shared virtual memory are not available");
  *address = reinterpret_cast<std::uintptr_t>(p);
  return TERN_DEVICE_OK;
}

tern_device_status release(std::int32_t device, tern_device_address address) {
  const OpenClDevice* d = find(device);
  if (d == nullptr) return TERN_DEVICE_INVALID;
  clSVMFree(d->context, pointer(address));
  return TERN_DEVICE_OK;
}

tern_device_status copy(tern_device_stream stream, void* to, const void* from, std::uint64_t bytes) {
  TimedCommand timed(stream);
  return checked(clEnqueueSVMMemcpy(stream->queue, CL_FALSE, to, from, bytes, 0, nullptr, timed.event()),
                 "clEnqueueSVMMemcpy");
}
tern_device_status copy_to_device(std::int32_t, tern_device_stream stream, tern_device_address to, const void* from,
                                  std::uint64_t bytes) {
  return copy(stream, pointer(to), from, bytes);
}
tern_device_status copy_to_host(std::int32_t, tern_device_stream stream, void* to, tern_device_address from,
                                std::uint64_t bytes) {
  return copy(stream, to, pointer(from), bytes);
}
tern_device_status copy_within(std::int32_t device, tern_device_stream stream, tern_device_address to,
                               tern_device_address from, std::uint64_t bytes) {
  if (stream->recorded != nullptr) return record_copy(*find(device), *stream, to, from, bytes);
  return copy(stream, pointer(to), pointer(from), bytes);
}

tern_device_status stream_create(std::int32_t device, tern_device_stream* stream) {
  const OpenClDevice* d = find(device);
  if (d == nullptr) return TERN_DEVICE_INVALID;
  cl_int error = CL_SUCCESS;
  const cl_queue_properties clocked[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  const cl_command_queue queue = clCreateCommandQueueWithProperties(d->context, d->id, clocked, &error);
  if (error != CL_SUCCESS) return checked(error, "clCreateCommandQueueWithProperties");
  *stream = new tern_device_stream_s{queue, nullptr, nullptr};
  return TERN_DEVICE_OK;
}
tern_device_status stream_destroy(std::int32_t, tern_device_stream stream) {
  const cl_int finished = clFinish(stream->queue);
  clReleaseCommandQueue(stream->queue);
  delete stream;
  return checked(finished, "clFinish");
}
tern_device_status stream_synchronize(std::int32_t, tern_device_stream stream) {
  return checked(clFinish(stream->queue), "clFinish");
}

tern_device_status event_create(std::int32_t, tern_device_event* event) {
  *event = new tern_device_event_s{nullptr};
  return TERN_DEVICE_OK;
}
tern_device_status event_destroy(std::int32_t, tern_device_event event) {
  if (event->event != nullptr) clReleaseEvent(event->event);
  delete event;
  return TERN_DEVICE_OK;
}
tern_device_status event_record(std::int32_t, tern_device_event event, tern_device_stream stream) {
  if (event->event != nullptr) clReleaseEvent(event->event);
  event->event = nullptr;
  return checked(clEnqueueMarkerWithWaitList(stream->queue, 0, nullptr, &event->event), "clEnqueueMarkerWithWaitList");
}
tern_device_status event_synchronize(std::int32_t, tern_device_event event) {
  if (event->event == nullptr) return TERN_DEVICE_OK;
  return checked(clWaitForEvents(1, &event->event), "clWaitForEvents");
}
tern_device_status stream_wait(std::int32_t, tern_device_stream stream, tern_device_event event) {
  if (event->event == nullptr) return TERN_DEVICE_OK;
  return checked(clEnqueueBarrierWithWaitList(stream->queue, 1, &event->event, nullptr),
                 "clEnqueueBarrierWithWaitList");
}

tern_device_status event_query(std::int32_t, tern_device_event event, std::int32_t* happened) {
  cl_int state = CL_COMPLETE;
  cl_int error = CL_SUCCESS;
  if (event->event != nullptr)
    error = clGetEventInfo(event->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr);
  *happened = state == CL_COMPLETE || state < 0 ? 1 : 0;  // negative: failed
  return checked(error, "clGetEventInfo");
}
tern_device_status event_elapsed(std::int32_t, tern_device_event from, tern_device_event to, double* seconds) {
  cl_ulong times[2] = {};
  const tern_device_event events[] = {from, to};
  for (int i = 0; i < 2; ++i) {
    const cl_int error =
        events[i]->event == nullptr
            ? CL_INVALID_EVENT
            : clGetEventProfilingInfo(events[i]->event, CL_PROFILING_COMMAND_END, sizeof times[i], &times[i], nullptr);
    if (error != CL_SUCCESS) return checked(error, "clGetEventProfilingInfo");
  }
  *seconds = (static_cast<double>(times[1]) - static_cast<double>(times[0])) * 1e-9;
  return TERN_DEVICE_OK;
}

constexpr tern_device_event_functions kEvents = {sizeof(tern_device_event_functions), 0, event_query, event_elapsed};

tern_device_status module_load(std::int32_t device, const tern_device_source* source, tern_device_module* module) {
  const OpenClDevice* d = find(device);
  if (d == nullptr) return TERN_DEVICE_INVALID;
  cl_program program = nullptr;
  const tern_device_status status = build(*d, *source, &program);
  if (status == TERN_DEVICE_OK) *module = new tern_device_module_s{program, {}};
  return status;
}

tern_device_status module_unload(std::int32_t, tern_device_module module) {
  for (tern_device_kernel k : module->kernels) {
    clReleaseKernel(k->kernel);
    delete k;
  }
  clReleaseProgram(module->program);
  delete module;
  return TERN_DEVICE_OK;
}

tern_device_status module_kernel(std::int32_t, tern_device_module module, const char* name,
                                 tern_device_kernel* kernel) {
  cl_int error = CL_SUCCESS;
  const cl_kernel k = clCreateKernel(module->program, name, &error);
  if (error != CL_SUCCESS) return checked(error, "clCreateKernel");
  *kernel = new tern_device_kernel_s{k, {}};
  module->kernels.push_back(*kernel);
  return TERN_DEVICE_OK;
}

tern_device_status launch(std::int32_t, tern_device_stream stream, tern_device_kernel kernel,
                          const tern_device_launch* l) {
  const std::lock_guard lock(kernel->mutex);
  for (std::uint32_t i = 0; i < l->argument_count; ++i) {
    const tern_device_argument& a = l->arguments[i];
    cl_int error = CL_SUCCESS;
    if (a.is_address != 0) {
      tern_device_address address = 0;
      std::memcpy(&address, a.data, sizeof address);
      error = clSetKernelArgSVMPointer(kernel->kernel, i, pointer(address));
    } else {
      error = clSetKernelArg(kernel->kernel, i, a.size, a.data);
    }
    if (error != CL_SUCCESS) return checked(error, ("argument " + std::to_string(i)).c_str());
  }
  const std::size_t group = l->group != 0 ? l->group : std::min<std::uint64_t>(l->items, kGroup);
  const std::size_t items = (l->items + group - 1) / group * group;
  if (stream->recorded != nullptr) return record_launch(*stream, kernel->kernel, items, group);
  TimedCommand timed(stream);
  return checked(
      clEnqueueNDRangeKernel(stream->queue, kernel->kernel, 1, nullptr, &items, &group, 0, nullptr, timed.event()),
      "clEnqueueNDRangeKernel");
}

const void* get_extension(const char* name, std::uint32_t version) {
  if (version != TERN_DEVICE_EXTENSION_VERSION) return nullptr;
  if (std::strcmp(name, "events") == 0) return &kEvents;
  if (std::strcmp(name, "pinned_memory") == 0) return pinned_memory_functions();
  if (std::strcmp(name, "profiler") == 0) return profiler_functions();
  return std::strcmp(name, "graph") == 0 ? graph_functions() : nullptr;
}

constexpr tern_device_plugin kPlugin = {sizeof(tern_device_plugin),
                                        TERN_DEVICE_ABI,
                                        "xpu",
                                        last_message,
                                        count,
                                        properties,
                                        allocate,
                                        release,
                                        copy_to_device,
                                        copy_to_host,
                                        copy_within,
                                        stream_create,
                                        stream_destroy,
                                        stream_synchronize,
                                        event_create,
                                        event_destroy,
                                        event_record,
                                        event_synchronize,
                                        stream_wait,
                                        module_load,
                                        module_unload,
                                        module_kernel,
                                        launch,
                                        get_extension};

}  // namespace

const tern_device_plugin* tern_device_library(void) {
  return &kPlugin;
}
