#include "exporter/kernels/recording_device.h"

#include <tern/error.h>

#include <algorithm>
#include <cstring>

namespace tern {
namespace {

thread_local RecordingDevice* current = nullptr;

}  // namespace

/// The functions of tern/device.h.
struct RecordingFunctions {
  template <class Handle>
  static tern_device_status create_handle(Handle* handle) {  // a handle without a device object
    static char placeholder;
    *handle = reinterpret_cast<Handle>(&placeholder);
    return TERN_DEVICE_OK;
  }
  static const char* last_message() { return "nothing fails here"; }
  static tern_device_status count(std::int32_t* n) {
    *n = 1;
    return TERN_DEVICE_OK;
  }
  static tern_device_status properties(std::int32_t, tern_device_properties* p) {
    p->dialect = current->kind_.dialect;
    p->features = current->kind_.features;
    p->vector_floats = current->kind_.vector_floats;
    return TERN_DEVICE_OK;
  }
  static tern_device_status allocate(std::int32_t, std::uint64_t bytes, tern_device_address* address) {
    constexpr std::uint64_t kApart = 4096;
    *address = current->next_address_;
    current->next_address_ += (bytes / kApart + 1) * kApart;
    return TERN_DEVICE_OK;
  }
  static tern_device_status free(std::int32_t, tern_device_address) { return TERN_DEVICE_OK; }
  static tern_device_status copy_to_device(std::int32_t, tern_device_stream, tern_device_address, const void*,
                                           std::uint64_t) {
    return TERN_DEVICE_OK;
  }
  /// Fills the buffer with the answer, repeated as 64-bit numbers.
  static tern_device_status copy_to_host(std::int32_t, tern_device_stream, void* destination, tern_device_address,
                                         std::uint64_t bytes) {
    const std::uint64_t number = current->answer_;
    std::memset(destination, 0, bytes);
    for (std::uint64_t offset = 0; offset + sizeof number <= bytes; offset += sizeof number)
      std::memcpy(static_cast<char*>(destination) + offset, &number, sizeof number);
    return TERN_DEVICE_OK;
  }
  static tern_device_status copy_within(std::int32_t, tern_device_stream, tern_device_address, tern_device_address,
                                        std::uint64_t) {
    return TERN_DEVICE_OK;
  }
  static tern_device_status stream_create(std::int32_t, tern_device_stream* stream) { return create_handle(stream); }
  static tern_device_status ignore_stream(std::int32_t, tern_device_stream) { return TERN_DEVICE_OK; }
  static tern_device_status event_create(std::int32_t, tern_device_event* event) { return create_handle(event); }
  static tern_device_status ignore_event(std::int32_t, tern_device_event) { return TERN_DEVICE_OK; }
  static tern_device_status event_record(std::int32_t, tern_device_event, tern_device_stream) { return TERN_DEVICE_OK; }
  static tern_device_status stream_wait(std::int32_t, tern_device_stream, tern_device_event) { return TERN_DEVICE_OK; }
  static tern_device_status module_load(std::int32_t, const tern_device_source* source, tern_device_module* module) {
    current->texts_.emplace(std::string(source->text, source->length), source->name);
    return create_handle(module);
  }
  static tern_device_status module_unload(std::int32_t, tern_device_module) { return TERN_DEVICE_OK; }
  static tern_device_status module_kernel(std::int32_t, tern_device_module, const char*, tern_device_kernel* kernel) {
    return create_handle(kernel);
  }
  static tern_device_status launch(std::int32_t, tern_device_stream, tern_device_kernel, const tern_device_launch*) {
    return TERN_DEVICE_OK;
  }
  static const void* get_extension(const char*, std::uint32_t) { return nullptr; }
};

namespace {

using F = RecordingFunctions;
constexpr tern_device_plugin kRecordingDeviceTable = {
    sizeof(tern_device_plugin),
    TERN_DEVICE_ABI,
    "recording",
    F::last_message,
    F::count,
    F::properties,
    F::allocate,
    F::free,
    F::copy_to_device,
    F::copy_to_host,
    F::copy_within,
    F::stream_create,
    F::ignore_stream,
    F::ignore_stream,
    F::event_create,
    F::ignore_event,
    F::event_record,
    F::ignore_event,
    F::stream_wait,
    F::module_load,
    F::module_unload,
    F::module_kernel,
    F::launch,
    F::get_extension,
};

}  // namespace

RecordingDevice::RecordingDevice(const DeviceKind& kind) : kind_(kind), next_address_(4096) {
  if (current != nullptr) fail(ErrorCode::internal, "a thread records the kernels of one device at a time");
  current = this;
  plugin_.table = &kRecordingDeviceTable;
  plugin_.count = 1;
  try {
    device_ = std::make_unique<PluginDevice>(plugin_, 0);
  } catch (...) {
    current = nullptr;
    throw;
  }
  device_->set_memory_limit(0);
  device_->allow_compiling();  // compilation is recorded, not run
}

RecordingDevice::~RecordingDevice() {
  device_.reset();
  current = nullptr;
}

}  // namespace tern
