#include "tests/gpu/amd/compile.h"

#include <algorithm>

#include "tests/gpu/amd/cache.h"
#include "tests/gpu/amd/command.h"
#include "tests/gpu/amd/error.h"
#include "tests/gpu/amd/ir/translate.h"
#include "tests/gpu/amd/toolchain.h"

namespace tern::gpu::amd {
namespace fs = std::filesystem;
namespace {

// Options of the build's precompiled headers (CMakeLists.txt); sources with other options compile the headers again.
constexpr std::string_view kStandard = "-std=c++17";

std::vector<std::string> front_end(const CompileRequest& request, const fs::path& text, const fs::path& ir,
                                   bool precompiled) {
  std::vector<std::string> command{clang(),
                                   "-x",
                                   "hip",
                                   "--offload-arch=" + request.architecture,
                                   "--rocm-path=/usr",
                                   "--rocm-device-lib-path=" + device_libraries().string(),
                                   "--cuda-device-only",
                                   "-D__HIPCC_RTC__",
                                   "-fno-crash-diagnostics",
                                   "-O2"};
  if (std::none_of(request.options.begin(), request.options.end(),
                   [](const std::string& o) { return o.starts_with("-std="); })) {
    command.emplace_back(kStandard);
  }
  command.insert(command.end(), request.options.begin(), request.options.end());
  if (precompiled) {
    command.insert(command.end(), {"-Xclang", "-include-pch", "-Xclang", precompiled_headers()});
  } else {
    command.insert(command.end(), {"-include", headers_of_hip()});
  }
  command.insert(command.end(), {"-I", text.parent_path(), "-S", "-emit-llvm", text, "-o", ir});
  return command;
}

// Keeps the bits of the IR: no contraction, no fast math. The level of x86 has fused multiply-adds and conversions of
// 16 bits.
std::vector<std::string> back_end(const fs::path& ir, const fs::path& library) {
  return {clang(),
          "-x",
          "ir",
          ir,
          "-x",
          "none",
          "-O1",
          "-march=x86-64-v3",
          "-ffp-contract=off",
          "-fPIC",
          "-shared",
          "-Wno-override-module",
          "-fno-crash-diagnostics",
          "-Xclang",
          "-mlink-builtin-bitcode",
          "-Xclang",
          runtime_bitcode(),
          library_calls(),
          "-fuse-ld=" TERN_AMD_LINKER,
          "-Wl,-z,defs",
          "-Wl,--as-needed",
          "-lm",
          "-o",
          library};
}

std::string content(const CompileRequest& request) {
  std::string all = request.name + '\n' + request.architecture + '\n';
  for (const std::string& option : request.options) all += option + '\n';
  for (const auto& [name, text] : request.headers) all += name + '\n' + text + '\n';
  return all + request.text;
}

// Removes the temporary folder: messages name the source like the request.
std::string remove_folder(std::string log, const fs::path& folder) {
  const std::string prefix = (folder / "text").string() + '/';
  for (std::size_t at = log.find(prefix); at != std::string::npos; at = log.find(prefix, at))
    log.erase(at, prefix.size());
  return log;
}

CommandResult to_ir(const CompileRequest& request, const fs::path& text, const fs::path& ir, const fs::path& log) {
  if (request.architecture == "gfx942") {
    CommandResult result = run_command(front_end(request, text, ir, true), log);
    if (result.status == 0 || result.error.find("PCH file") == std::string::npos) return result;
  }
  return run_command(front_end(request, text, ir, false), log);
}

}  // namespace

CompileResult compile(const CompileRequest& request) {
  const std::string key = cache_key(content(request));
  if (auto cached = find_cached(key)) return {true, std::move(*cached), ""};
  const TemporaryFolder folder;
  const fs::path ir = folder.path() / "gpu.ll", log = folder.path() / "log", host = folder.path() / "host.ll",
                 library = folder.path() / "kernels.so";
  for (const auto& [name, text] : request.headers) {
    fs::create_directories((folder.path() / "text" / name).parent_path());
    write_file(folder.path() / "text" / name, text);
  }
  const fs::path text = folder.path() / "text" / fs::path(request.name).filename();
  fs::create_directories(text.parent_path());
  write_file(text, request.text);
  CommandResult front = to_ir(request, text, ir, log);
  front.error = remove_folder(std::move(front.error), folder.path());
  if (front.status != 0) return {false, "", front.error};
  try {
    write_file(host, translate(read_file(ir)));
  } catch (const Error& error) {
    return {false, "", front.error + request.name + ": error: " + error.what() + '\n'};
  }
  const CommandResult back = run_command(back_end(host, library), log);
  if (back.status != 0) {
    return {false, "", front.error + request.name + ": error: the emulator's own IR does not compile: " + back.error};
  }
  CompileResult result{true, read_file(library), front.error};
  if (result.log.empty()) keep_cached(key, result.library);  // warnings must repeat
  return result;
}

}  // namespace tern::gpu::amd
