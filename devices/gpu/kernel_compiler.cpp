// "kernel_compiler": kernels for archives, compiled on any machine with the compiler.
#include "devices/gpu/compile.h"
#include "devices/gpu/status.h"
#include "devices/gpu/tables.h"
#include "devices/gpu/vendor.h"

namespace tern::gpu {
namespace {

const char* compiler_text(const char* target) {
  thread_local std::string text;
  std::string why;
  const Compiler* c = compiler(&why);
  if (c != nullptr) why = archive_options(target, *c).error;
  if (!why.empty()) {
    failed(TERN_DEVICE_COMPILE, why);
    return nullptr;
  }
  text = version_of(*c);
  return text.c_str();
}

tern_device_status compile_kernel(const char* target, const tern_device_source* source,
                                  void (*take)(void* context, const void* bytes, std::uint64_t length), void* context) {
  std::string code;
  TERN_GPU_TRY(compile_for(target, *source, &code));
  take(context, code.data(), code.size());
  return TERN_DEVICE_OK;
}

constexpr tern_device_kernel_compiler_functions kKernelCompiler = {
    sizeof kKernelCompiler, names::kDialect, TERN_DEVICE_DOUBLE | TERN_DEVICE_GROUPS | TERN_DEVICE_SPARSE,
    archive_targets,        compiler_text,   compile_kernel};

}  // namespace

const tern_device_kernel_compiler_functions* kernel_compiler_functions() {
  return &kKernelCompiler;
}

}  // namespace tern::gpu
