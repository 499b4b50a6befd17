#include "devices/gpu/compile.h"

#include <mutex>

#include "devices/gpu/library.h"
#include "devices/gpu/status.h"
#include "devices/gpu/vendor.h"
#include "devices/program_cache/program_cache.h"

namespace tern::gpu {
namespace {

constexpr std::size_t kLogCharacters = 4000;  // most characters of a compiler log in a message

std::string log_of(const CompilerApi& c, Program program) {
  std::size_t size = 0;
  if (c.log_size(program, &size) != kSuccess || size <= 1) return "the compiler failed without a message";
  std::string log(size, '\0');
  if (c.log(program, log.data()) != kSuccess) log.clear();
  return log.substr(0, kLogCharacters);
}

tern_device_status run_compiler(const Compiler& compiler, const CompileOptions& options,
                                const tern_device_source& source, std::string* code) {
  static std::mutex one_at_a_time;
  std::unique_lock<std::mutex> lock;
  if (!has_threads(compiler)) lock = std::unique_lock(one_at_a_time);
  const CompilerApi& c = compiler.functions;
  Program program = nullptr;
  if (c.create(&program, source.text, source.name, 0, nullptr, nullptr) != kSuccess)
    return failed(TERN_DEVICE_FAILED, std::string(names::kCompiler) + " takes no text");
  std::vector<const char*> list;
  for (const std::string& o : options.options) list.push_back(o.c_str());
  tern_device_status status = TERN_DEVICE_OK;
  if (c.compile(program, static_cast<int>(list.size()), list.data()) != kSuccess) {
    status = failed(TERN_DEVICE_COMPILE, log_of(c, program));
  } else if (options.to_ptx) {
    *code = ptx_of(compiler, program);
  } else {
    std::size_t size = 0;
    if (c.code_size(program, &size) == kSuccess) code->resize(size);
    if (size == 0 || c.code(program, code->data()) != kSuccess) code->clear();
  }
  c.destroy(&program);
  if (status == TERN_DEVICE_OK && code->empty())
    return failed(TERN_DEVICE_COMPILE, std::string(names::kCompiler) + " does not produce code of " + source.name);
  return status;
}

}  // namespace

tern_device_status compile_for(const std::string& target, const tern_device_source& source, std::string* code) {
  std::string why;
  const Compiler* c = compiler(&why);
  if (c == nullptr) return failed(TERN_DEVICE_COMPILE, why);
  const CompileOptions options = archive_options(target, *c);
  if (!options.error.empty()) return failed(TERN_DEVICE_UNSUPPORTED, options.error);
  return run_compiler(*c, options, source, code);
}

tern_device_status compile(const GpuDevice& d, const tern_device_source& source, std::string* code) {
  std::string why;
  const Compiler* c = compiler(&why);
  if (c == nullptr) return failed(TERN_DEVICE_COMPILE, why);
  const CompileOptions options = compile_options(d, *c);
  if (!options.error.empty()) return failed(TERN_DEVICE_COMPILE, options.error);
  std::string identity = d.arch + "\n" + d.driver + "\n" + version_of(*c);
  for (const std::string& o : options.options) identity += "\n" + o;
  identity += "\n" + std::string(source.text, source.length);
  *code = cached_program(identity);
  if (!code->empty()) return TERN_DEVICE_OK;
  TERN_GPU_TRY(run_compiler(*c, options, source, code));
  store_program(identity, *code);
  return TERN_DEVICE_OK;
}

}  // namespace tern::gpu
