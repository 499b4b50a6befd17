#include "tests/gpu/ptx/tests/nvrtc.h"

#include <dlfcn.h>
#include <glob.h>

#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "tests/gpu/ptx/tests/launcher.h"

namespace tern::emulated {
namespace {

// TERN_NVRTC, else the library installed by './dev setup devices', else the system's.
std::string library_name() {
  if (const char* named = std::getenv("TERN_NVRTC")) return named;
  glob_t found{};
  std::string name = "libnvrtc.so";
  if (glob(TERN_PTX_TESTS_TOOLS "/lib/python*/site-packages/nvidia/*/lib/libnvrtc.so.*", 0, nullptr, &found) == 0) {
    name = found.gl_pathv[0];
  }
  globfree(&found);
  return name;
}

template <class Function>
void look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) throw std::runtime_error(std::string("NVRTC: ") + dlerror());
}

Nvrtc load() {
  const std::string name = library_name();
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw std::runtime_error(std::string(dlerror()) +
                             ": these tests need NVRTC; './dev setup devices' installs it, TERN_NVRTC names another");
  }
  Nvrtc functions{};
  look_up(library, "nvrtcCreateProgram", functions.create);
  look_up(library, "nvrtcCompileProgram", functions.compile);
  look_up(library, "nvrtcGetProgramLogSize", functions.log_size);
  look_up(library, "nvrtcGetProgramLog", functions.log);
  look_up(library, "nvrtcGetPTXSize", functions.ptx_size);
  look_up(library, "nvrtcGetPTX", functions.ptx);
  look_up(library, "nvrtcDestroyProgram", functions.destroy);
  return functions;
}

// NVRTC's sizes of strings include the final zero.
std::string text_of(Nvrtc::Program program, int (*size_of)(Nvrtc::Program, std::size_t*),
                    int (*get)(Nvrtc::Program, char*)) {
  std::size_t size = 0;
  if (size_of(program, &size) != 0 || size == 0) throw std::runtime_error("NVRTC has no text to give");
  std::string text(size, '\0');
  if (get(program, text.data()) != 0) throw std::runtime_error("NVRTC does not give its text");
  text.pop_back();
  return text;
}

}  // namespace

const Nvrtc& nvrtc() {
  static const Nvrtc functions = load();
  return functions;
}

std::string ptx_of(const std::string& cuda) {
  const Nvrtc& n = nvrtc();
  Nvrtc::Program program = nullptr;
  if (n.create(&program, cuda.c_str(), "test.cu", 0, nullptr, nullptr) != 0) {
    throw std::runtime_error("nvrtcCreateProgram fails");
  }
  // No contraction, so that the host's expressions have the same bits.
  const std::vector<const char*> options{"--gpu-architecture=compute_90", "--std=c++17", "--device-int128",
                                         "--fmad=false"};
  const bool compiled = n.compile(program, static_cast<int>(options.size()), options.data()) == 0;
  const std::string text = compiled ? text_of(program, n.ptx_size, n.ptx) : text_of(program, n.log_size, n.log);
  n.destroy(&program);
  if (!compiled) throw std::runtime_error(text);
  return text;
}

}  // namespace tern::emulated
