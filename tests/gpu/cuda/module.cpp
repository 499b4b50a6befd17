// Modules and functions.
#include <algorithm>
#include <cstring>
#include <string>

#include "tests/gpu/cuda/call.h"
#include "tests/gpu/cuda/image.h"
#include "tests/gpu/machine/properties.h"
#include "tests/gpu/machine/settings.h"

using namespace tern::emulator;
using namespace tern::emulator::cuda;

namespace {

// The buffers for logs among the options.
struct Logs {
  char* error = nullptr;
  size_t error_bytes = 0;
  void** error_written = nullptr;
  char* info = nullptr;
  size_t info_bytes = 0;
  void** info_written = nullptr;

  Logs(unsigned count, const CUjit_option* options, void** values) {
    if (count != 0) require(options, "options"), require(values, "optionValues");
    for (unsigned i = 0; i < count; ++i) {
      switch (options[i]) {
        case CU_JIT_ERROR_LOG_BUFFER: error = static_cast<char*>(values[i]); break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
          error_bytes = number(values[i]) & 0xFFFFFFFF;
          error_written = &values[i];
          break;
        case CU_JIT_INFO_LOG_BUFFER: info = static_cast<char*>(values[i]); break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
          info_bytes = number(values[i]) & 0xFFFFFFFF;
          info_written = &values[i];
          break;
        default: break;  // others change no result
      }
    }
  }

  // "this field is updated with" the number of written bytes.
  static void write(const std::string& text, char* buffer, size_t bytes, void** written) {
    const size_t kept = buffer == nullptr || bytes == 0 ? 0 : std::min(text.size(), bytes - 1);
    if (buffer != nullptr && bytes != 0) {
      std::memcpy(buffer, text.data(), kept);
      buffer[kept] = 0;
    }
    if (written != nullptr) *written = handle<void*>(kept);
  }
};

// Translation takes long: other threads continue meanwhile.
class Unlocked {
 public:
  explicit Unlocked(std::recursive_mutex& lock) : lock_(lock) { lock_.unlock(); }
  ~Unlocked() { lock_.lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  std::recursive_mutex& lock_;
};

std::shared_ptr<Module> translate(Machine& machine, const void* image) {
  const bool counts = machine.counted.is_enabled();
  const Unlocked unlocked(machine.lock);
  Translated translated = library_of(image, counts);
  auto module = open_module(translated.library);
  module->text = std::move(translated.text);
  return module;
}

void load(Machine& machine, CUmodule* result, const void* image, const Logs& logs) {
  const auto context = machine.current();
  require(result, "module");
  require(image, "image");
  machine.unsafe();
  try {
    *result = handle<CUmodule>(machine.load(context, translate(machine, image)));
    Logs::write("", logs.error, logs.error_bytes, logs.error_written);
    Logs::write("", logs.info, logs.info_bytes, logs.info_written);
  } catch (const Failure& failure) {
    Logs::write(failure.why, logs.error, logs.error_bytes, logs.error_written);
    throw;
  }
}

}  // namespace

CUresult CUDAAPI cuModuleLoadData(CUmodule* module, const void* image) {
  return call("cuModuleLoadData", 2000,
              [&](Machine& machine) { load(machine, module, image, Logs(0, nullptr, nullptr)); });
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int count, CUjit_option* options,
                                    void** values) {
  return call("cuModuleLoadDataEx", 2010,
              [&](Machine& machine) { load(machine, module, image, Logs(count, options, values)); });
}

CUresult CUDAAPI cuModuleUnload(CUmodule module) {
  return call("cuModuleUnload", 2000, [&](Machine& machine) {
    machine.current();
    machine.unsafe();
    machine.unload(number(module));
  });
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return call("cuModuleGetFunction", 2000, [&](Machine& machine) {
    machine.current();
    require(name, "name");
    require(function, "hfunc") = handle<CUfunction>(machine.function(number(module), std::string(name)));
  });
}

CUresult CUDAAPI cuFuncGetAttribute(int* value, CUfunction_attribute key, CUfunction function) {
  return call("cuFuncGetAttribute", 2020, [&](Machine& machine) {
    machine.current();
    const auto f = machine.function(number(function));
    require(value, "pi");
    const int capability = settings().major * 10 + settings().minor;
    switch (key) {
      case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = static_cast<int>(f->kernel->most_threads != 0 ? f->kernel->most_threads : properties().most_threads);
        break;
      case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = static_cast<int>(f->kernel->local_bytes); break;
      case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = 0; break;
      case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = static_cast<int>(properties().registers_thread); break;
      case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = capability; break;
      case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = static_cast<int>(f->most_dynamic); break;
      default: refuse(Status::invalid_value, "function attribute %d is not emulated", static_cast<int>(key));
    }
  });
}

// "The sum of this value and the function attribute CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES cannot exceed the device
// attribute CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN."
CUresult CUDAAPI cuFuncSetAttribute(CUfunction function, CUfunction_attribute key, int value) {
  return call("cuFuncSetAttribute", 9000, [&](Machine& machine) {
    machine.current();
    const auto f = machine.function(number(function));
    if (key == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) return;  // "This is only a hint"
    if (key != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
      refuse(Status::invalid_value, "function attribute %d cannot be set here", static_cast<int>(key));
    }
    if (value < 0 || f->kernel->local_bytes + static_cast<uint32_t>(value) > properties().local_bytes_opt_in) {
      refuse(Status::invalid_value, "%d bytes of dynamic local memory on top of %u; the device has %u", value,
             f->kernel->local_bytes, properties().local_bytes_opt_in);
    }
    f->most_dynamic = static_cast<uint32_t>(value);
  });
}
