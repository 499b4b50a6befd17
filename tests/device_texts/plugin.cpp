// A device plugin that stores the source of every kernel and runs none: `texts:0` to `texts:4` are devices of the
// dialects of tern/device.h, and each source becomes a file in the folder TERN_TEXTS. Compilers then check the files
// without a device (tests/scripts/compilers.py). Memory is host memory filled with zeros, so results are meaningless.
#include <tern/device.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace fs = std::filesystem;

namespace {

thread_local std::string message;

template <class Handle>
Handle handle() {  // a dummy handle
  static char thing;
  return reinterpret_cast<Handle>(&thing);
}

const char* last_message() {
  return message.c_str();
}
tern_device_status count(std::int32_t* n) {
  *n = TERN_DIALECT_METAL + 1;
  return TERN_DEVICE_OK;
}
tern_device_status properties(std::int32_t device, tern_device_properties* p) {
  tern_device_properties mine{};
  mine.size = p->size < sizeof mine ? p->size : sizeof mine;
  mine.dialect = device;
  mine.features =
      (device == TERN_DIALECT_METAL ? 0 : TERN_DEVICE_DOUBLE) | (device == TERN_DIALECT_CPP ? 0 : TERN_DEVICE_GROUPS);
  std::snprintf(mine.name, sizeof mine.name, "texts of kernels");
  std::memcpy(p, &mine, mine.size);
  return TERN_DEVICE_OK;
}

tern_device_status allocate(std::int32_t, std::uint64_t bytes, tern_device_address* address) {
  *address = reinterpret_cast<std::uintptr_t>(std::calloc(bytes, 1));
  return *address == 0 ? TERN_DEVICE_OUT_OF_MEMORY : TERN_DEVICE_OK;
}
tern_device_status release(std::int32_t, tern_device_address address) {
  std::free(reinterpret_cast<void*>(address));
  return TERN_DEVICE_OK;
}
tern_device_status copy_to_device(std::int32_t, tern_device_stream, tern_device_address, const void*, std::uint64_t) {
  return TERN_DEVICE_OK;
}
tern_device_status copy_to_host(std::int32_t, tern_device_stream, void* to, tern_device_address, std::uint64_t bytes) {
  std::memset(to, 0, bytes);
  return TERN_DEVICE_OK;
}
tern_device_status copy_within(std::int32_t, tern_device_stream, tern_device_address, tern_device_address,
                               std::uint64_t) {
  return TERN_DEVICE_OK;
}

tern_device_status stream_create(std::int32_t, tern_device_stream* stream) {
  *stream = handle<tern_device_stream>();
  return TERN_DEVICE_OK;
}
tern_device_status on_stream(std::int32_t, tern_device_stream) {
  return TERN_DEVICE_OK;
}
tern_device_status event_create(std::int32_t, tern_device_event* event) {
  *event = handle<tern_device_event>();
  return TERN_DEVICE_OK;
}
tern_device_status on_event(std::int32_t, tern_device_event) {
  return TERN_DEVICE_OK;
}
tern_device_status event_record(std::int32_t, tern_device_event, tern_device_stream) {
  return TERN_DEVICE_OK;
}
tern_device_status stream_wait(std::int32_t, tern_device_stream, tern_device_event) {
  return TERN_DEVICE_OK;
}

tern_device_status module_load(std::int32_t, const tern_device_source* source, tern_device_module* module) {
  const char* folder = std::getenv("TERN_TEXTS");
  if (folder == nullptr) {
    message = "set TERN_TEXTS to the folder that takes the texts";
    return TERN_DEVICE_FAILED;
  }
  const std::string text(source->text, source->length);
  char name[64];
  std::snprintf(name, sizeof name, "-%016zx.txt", std::hash<std::string>{}(text));
  std::ofstream(fs::path(folder) / (source->name + std::string(name)), std::ios::binary) << text;
  *module = handle<tern_device_module>();
  return TERN_DEVICE_OK;
}
tern_device_status module_unload(std::int32_t, tern_device_module) {
  return TERN_DEVICE_OK;
}
tern_device_status module_kernel(std::int32_t, tern_device_module, const char*, tern_device_kernel* kernel) {
  *kernel = handle<tern_device_kernel>();
  return TERN_DEVICE_OK;
}
tern_device_status launch(std::int32_t, tern_device_stream, tern_device_kernel, const tern_device_launch*) {
  return TERN_DEVICE_OK;
}
const void* get_extension(const char*, std::uint32_t) {
  return nullptr;
}

constexpr tern_device_plugin kPlugin = {
    sizeof(tern_device_plugin),
    TERN_DEVICE_ABI,
    "texts",
    last_message,
    count,
    properties,
    allocate,
    release,
    copy_to_device,
    copy_to_host,
    copy_within,
    stream_create,
    on_stream,
    on_stream,
    event_create,
    on_event,
    event_record,
    on_event,
    stream_wait,
    module_load,
    module_unload,
    module_kernel,
    launch,
    get_extension,
};

}  // namespace

const tern_device_plugin* tern_device_library(void) {
  return &kPlugin;
}
