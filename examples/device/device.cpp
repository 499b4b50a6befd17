// An out-of-tree device plugin: the "device" is the host itself. Its memory is the host's, its streams run work
// immediately, and its kernels are C++ compiled to shared libraries by the system's compiler. The plugin implements
// every required function of tern/device.h, and can serve as a template.
#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <tern/device.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <forward_list>
#include <fstream>
#include <mutex>
#include <string>

extern char** environ;

namespace fs = std::filesystem;

// Signature of Tern's C++ kernels: computes work-items [begin, end).
using Function = void (*)(const void* const* args, long long begin, long long end);

// Definitions of the handles.
struct tern_device_stream_s {};  // never has pending work
struct tern_device_event_s {};
struct tern_device_kernel_s {
  Function function;
};
struct tern_device_module_s {
  void* library;
  std::forward_list<tern_device_kernel_s> kernels;  // kernels requested so far
};

namespace {

thread_local std::string last_error;

/// Stores the message of a call that fails, and returns its status.
tern_device_status set_error(tern_device_status status, std::string description) {
  last_error = std::move(description);
  return status;
}
const char* get_last_message() {
  return last_error.c_str();
}

tern_device_status device_count(std::int32_t* n) {
  *n = 1;
  return TERN_DEVICE_OK;
}

tern_device_status device_properties(std::int32_t, tern_device_properties* result) {
  tern_device_properties filled{};
  // A caller older than this plugin has a shorter struct.
  filled.size = result->size < sizeof filled ? result->size : sizeof filled;
  filled.dialect = TERN_DIALECT_CPP;
  filled.features = TERN_DEVICE_DOUBLE | TERN_DEVICE_HOST_MEMORY;
  filled.units = 1;  // the host runs all work-items of a launch in turn
  std::snprintf(filled.name, sizeof filled.name, "the host, as an example of a device");
  std::snprintf(filled.driver, sizeof filled.driver, "the system's C++ compiler");
  std::memcpy(result, &filled, filled.size);
  return TERN_DEVICE_OK;
}

tern_device_status allocate(std::int32_t, std::uint64_t bytes, tern_device_address* address) {
  constexpr std::uint64_t kAlignment = 64;
  void* memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (memory == nullptr) return set_error(TERN_DEVICE_OUT_OF_MEMORY, std::to_string(bytes) + " bytes are not there");
  *address = reinterpret_cast<std::uintptr_t>(memory);
  return TERN_DEVICE_OK;
}
tern_device_status release(std::int32_t, tern_device_address address) {
  std::free(reinterpret_cast<void*>(address));
  return TERN_DEVICE_OK;
}

tern_device_status copy_to_device(std::int32_t, tern_device_stream, tern_device_address to, const void* from,
                                  std::uint64_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return TERN_DEVICE_OK;
}
tern_device_status copy_to_host(std::int32_t, tern_device_stream, void* to, tern_device_address from,
                                std::uint64_t bytes) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return TERN_DEVICE_OK;
}
tern_device_status copy_within(std::int32_t, tern_device_stream, tern_device_address to, tern_device_address from,
                               std::uint64_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return TERN_DEVICE_OK;
}

// Work is complete when its call returns, so there is nothing to wait for.
tern_device_status stream_create(std::int32_t, tern_device_stream* stream) {
  *stream = new tern_device_stream_s;
  return TERN_DEVICE_OK;
}
tern_device_status stream_destroy(std::int32_t, tern_device_stream stream) {
  delete stream;
  return TERN_DEVICE_OK;
}
tern_device_status stream_synchronize(std::int32_t, tern_device_stream) {
  return TERN_DEVICE_OK;
}
tern_device_status event_create(std::int32_t, tern_device_event* event) {
  *event = new tern_device_event_s;
  return TERN_DEVICE_OK;
}
tern_device_status event_destroy(std::int32_t, tern_device_event event) {
  delete event;
  return TERN_DEVICE_OK;
}
tern_device_status event_record(std::int32_t, tern_device_event, tern_device_stream) {
  return TERN_DEVICE_OK;
}
tern_device_status event_synchronize(std::int32_t, tern_device_event) {
  return TERN_DEVICE_OK;
}
tern_device_status stream_wait(std::int32_t, tern_device_stream, tern_device_event) {
  return TERN_DEVICE_OK;
}

/// Folder for this process's sources and libraries, removed at the end.
class Workshop {
 public:
  Workshop() {
    std::string pattern = (fs::temp_directory_path() / "tern-example-device-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) folder_ = pattern;
  }
  ~Workshop() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  /// A unique path without an extension; empty without a folder.
  std::string next() {
    const std::lock_guard lock(mutex_);
    return folder_.empty() ? std::string() : folder_ + "/kernel" + std::to_string(next_number_++);
  }

 private:
  std::mutex mutex_;
  std::string folder_;
  int next_number_ = 0;
};

/// Runs the compiler, without a shell; its output goes to `log`.
bool compile(const std::string& source, const std::string& library, const std::string& log) {
  const char* compiler = std::getenv("CXX");
  if (compiler == nullptr || *compiler == 0) compiler = "c++";
  // No contraction: Tern's kernels mark fused products and sums explicitly.
  const char* const arguments[] = {
      compiler,          "-std=c++17", "-O1",           "-w",           "-shared", "-fPIC", "-ffp-contract=off",
      "-fno-math-errno", "-o",         library.c_str(), source.c_str(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, log.c_str(), 0x241 /* write, create, truncate */, 0600);
  pid_t child = 0;
  const int error = posix_spawnp(&child, compiler, &files, nullptr, const_cast<char* const*>(arguments), environ);
  posix_spawn_file_actions_destroy(&files);
  int status = 0;
  return error == 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

tern_device_status module_load(std::int32_t, const tern_device_source* source, tern_device_module* module) {
  static Workshop workshop;
  if (source->dialect != TERN_DIALECT_CPP) return set_error(TERN_DEVICE_UNSUPPORTED, "this device compiles C++ alone");
  const std::string path = workshop.next();
  if (path.empty()) return set_error(TERN_DEVICE_FAILED, "no folder for compiled kernels can be made");
  std::ofstream(path + ".cpp", std::ios::binary).write(source->text, static_cast<std::streamsize>(source->length));
  if (!compile(path + ".cpp", path + ".so", path + ".log")) {
    std::ifstream log(path + ".log");
    const std::string compiler_output{std::istreambuf_iterator<char>(log), {}};
    return set_error(TERN_DEVICE_COMPILE, compiler_output.empty() ? "the compiler (CXX, else c++) could not be run"
                                                                  : compiler_output.substr(0, 4000));
  }
  void* library = dlopen((path + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return set_error(TERN_DEVICE_FAILED, dlerror());
  *module = new tern_device_module_s{library, {}};
  return TERN_DEVICE_OK;
}
tern_device_status module_unload(std::int32_t, tern_device_module module) {
  dlclose(module->library);
  delete module;
  return TERN_DEVICE_OK;
}
tern_device_status module_kernel(std::int32_t, tern_device_module module, const char* name,
                                 tern_device_kernel* kernel) {
  void* symbol = dlsym(module->library, name);
  if (symbol == nullptr) return set_error(TERN_DEVICE_INVALID, std::string("no kernel is called ") + name);
  module->kernels.push_front({reinterpret_cast<Function>(symbol)});
  *kernel = &module->kernels.front();
  return TERN_DEVICE_OK;
}

tern_device_status launch(std::int32_t, tern_device_stream, tern_device_kernel kernel, const tern_device_launch* info) {
  constexpr std::uint32_t kMaxArguments = 128;
  const void* arguments[kMaxArguments];
  if (info->argument_count > kMaxArguments) return set_error(TERN_DEVICE_UNSUPPORTED, "too many arguments");
  for (std::uint32_t i = 0; i < info->argument_count; ++i) arguments[i] = info->arguments[i].data;
  kernel->function(arguments, 0, info->items);
  return TERN_DEVICE_OK;
}

const void* get_extension(const char*, std::uint32_t) {
  return nullptr;
}

constexpr tern_device_plugin kPlugin = {
    sizeof(tern_device_plugin),
    TERN_DEVICE_ABI,
    "example",
    get_last_message,
    device_count,
    device_properties,
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
    get_extension,
};

}  // namespace

const tern_device_plugin* tern_device_library(void) {
  return &kPlugin;
}
