// NVRTC for emulated devices with machine code: forwards to the real compiler, TERN_EMULATOR_NVRTC. Compiles the source
// of machine code to PTX as well, into the folder TERN_EMULATOR_CUBINS, from which the emulated driver executes the
// PTX.
#include <dlfcn.h>
#include <nvrtc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/gpu/cuda/machine_code.h"

namespace {

namespace fs = std::filesystem;

const char* setting(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == 0) {
    std::fprintf(stderr, "emulated NVRTC: %s is not set\n", name);
    std::abort();
  }
  return value;
}

template <class F>
F* library_function(const char* name) {
  static void* const library = dlopen(setting("TERN_EMULATOR_NVRTC"), RTLD_NOW | RTLD_LOCAL);
  void* function = library == nullptr ? nullptr : dlsym(library, name);
  if (function == nullptr) {
    std::fprintf(stderr, "emulated NVRTC: %s has no %s\n", setting("TERN_EMULATOR_NVRTC"), name);
    std::abort();
  }
  return reinterpret_cast<F*>(function);
}
#define REAL(name) library_function<decltype(name)>(#name)

struct Text {
  std::string text, name;
};
std::mutex lock;
std::map<nvrtcProgram, Text>& texts() {
  static std::map<nvrtcProgram, Text> all;
  return all;
}

// Writes a whole file or none, even with concurrent writers.
void store_ptx(const std::string& name, const std::string& ptx) {
  const std::lock_guard<std::mutex> guard(lock);
  const fs::path folder = setting("TERN_EMULATOR_CUBINS"), part = folder / (name + "." + std::to_string(getpid()));
  fs::create_directories(folder);
  std::ofstream(part, std::ios::binary) << ptx;
  fs::rename(part, folder / name);
}

std::string ptx_of(const Text& text, const std::vector<const char*>& options) {
  nvrtcProgram program = nullptr;
  size_t bytes = 0;
  std::string ptx;
  if (REAL(nvrtcCreateProgram)(&program, text.text.c_str(), text.name.c_str(), 0, nullptr, nullptr) != NVRTC_SUCCESS)
    return ptx;
  if (REAL(nvrtcCompileProgram)(program, static_cast<int>(options.size()), options.data()) == NVRTC_SUCCESS &&
      REAL(nvrtcGetPTXSize)(program, &bytes) == NVRTC_SUCCESS) {
    ptx.resize(bytes);
    if (REAL(nvrtcGetPTX)(program, ptx.data()) != NVRTC_SUCCESS) ptx.clear();
    while (!ptx.empty() && ptx.back() == 0) ptx.pop_back();
  }
  REAL(nvrtcDestroyProgram)(&program);
  return ptx;
}

// Compiles the PTX twin of machine code with the same options. "sm_90" selects machine code, "compute_90" PTX of the
// same architecture.
void keep_twin(nvrtcProgram program, int count, const char* const* options) {
  const std::string key = "--gpu-architecture=";
  std::vector<const char*> changed(options, options + count);
  std::string architecture;
  for (const char*& option : changed) {
    if (std::string(option).rfind(key + "sm_", 0) != 0) continue;
    architecture = key + "compute_" + std::string(option).substr(key.size() + 3);
    option = architecture.c_str();
  }
  size_t bytes = 0;
  if (architecture.empty() || REAL(nvrtcGetCUBINSize)(program, &bytes) != NVRTC_SUCCESS || bytes == 0) return;
  std::string code(bytes, 0);
  if (REAL(nvrtcGetCUBIN)(program, code.data()) != NVRTC_SUCCESS) return;
  const std::string name = tern::emulator::cuda::text_name(code.data());
  if (fs::exists(fs::path(setting("TERN_EMULATOR_CUBINS")) / name)) return;
  Text text;
  {
    const std::lock_guard<std::mutex> guard(lock);
    text = texts()[program];
  }
  store_ptx(name, ptx_of(text, changed));
}

}  // namespace

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* text, const char* name, int headers,
                               const char* const* header_texts, const char* const* header_names) {
  const nvrtcResult result = REAL(nvrtcCreateProgram)(program, text, name, headers, header_texts, header_names);
  const std::lock_guard<std::mutex> guard(lock);
  if (result == NVRTC_SUCCESS) texts()[*program] = {text, name == nullptr ? "" : name};
  return result;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  const nvrtcResult result = REAL(nvrtcCompileProgram)(program, count, options);
  if (result == NVRTC_SUCCESS) keep_twin(program, count, options);
  return result;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  {
    const std::lock_guard<std::mutex> guard(lock);
    texts().erase(*program);
  }
  return REAL(nvrtcDestroyProgram)(program);
}

nvrtcResult nvrtcVersion(int* major, int* minor) {
  return REAL(nvrtcVersion)(major, minor);
}
nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  return REAL(nvrtcGetNumSupportedArchs)(count);
}
nvrtcResult nvrtcGetSupportedArchs(int* list) {
  return REAL(nvrtcGetSupportedArchs)(list);
}
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t* bytes) {
  return REAL(nvrtcGetPTXSize)(program, bytes);
}
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* text) {
  return REAL(nvrtcGetPTX)(program, text);
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* bytes) {
  return REAL(nvrtcGetCUBINSize)(program, bytes);
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* code) {
  return REAL(nvrtcGetCUBIN)(program, code);
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* bytes) {
  return REAL(nvrtcGetProgramLogSize)(program, bytes);
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* text) {
  return REAL(nvrtcGetProgramLog)(program, text);
}
const char* nvrtcGetErrorString(nvrtcResult result) {
  return REAL(nvrtcGetErrorString)(result);
}
