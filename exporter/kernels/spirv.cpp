#include "exporter/kernels/spirv.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <filesystem>

#include "exporter/kernels/run_compiler.h"
#include "loader/spirv.h"
#include "platform/process.h"

namespace tern {
namespace {

namespace fs = std::filesystem;

// The programs need equal LLVM versions; the kernel sources are tested with 15.
constexpr const char* kVersions[] = {"-15", "-16", "-17", "-18", "-19", "-20", "-21", ""};

struct Tools {
  std::string clang, translator, validator;  ///< paths; the last may be empty
};

Tools find_tools() {
  for (const char* version : kVersions) {
    Tools t{platform::find_program(fmt::format("clang{}", version)),
            platform::find_program(fmt::format("llvm-spirv{}", version)), platform::find_program("spirv-val")};
    if (!t.clang.empty() && !t.translator.empty()) return t;
  }
  fail(ErrorCode::unsupported,
       "SPIR-V needs clang and llvm-spirv of the same version, 15 or newer, on PATH (on Debian: clang-15, "
       "llvm-spirv-15, "
       "and spirv-tools to have it checked; './dev setup devices' installs them)");
}

const Tools& tools() {
  static const Tools found = find_tools();
  return found;
}

void run(const CompilerFolder& folder, const std::string& kernel, const std::string& program,
         const std::vector<std::string>& arguments) {
  run_compiler({fs::path(program).filename().string(), program,
                "install other versions of clang, llvm-spirv and spirv-val, first on PATH"},
               "compiling " + kernel, arguments, &folder);
}

std::vector<std::byte> compile(const std::string& name, const std::string& text) {
  const CompilerFolder folder;
  const std::string source = folder.file("kernel.cl"), bitcode = folder.file("kernel.bc"),
                    module = folder.file("kernel.spv");
  write_source(source, text);
  // The driver optimises: llvm-spirv rejects some output of clang's passes.
  run(folder, name, tools().clang,
      {"-x", "cl", "-cl-std=CL1.2", "-target", "spir64-unknown-unknown", "-Xclang", "-finclude-default-header",
       "-Xclang", "-fdeclare-opencl-builtins", "-O2", "-Xclang", "-disable-llvm-passes", "-ffp-contract=off",
       "-emit-llvm", "-c", "-w", source, "-o", bitcode});
  run(folder, name, tools().translator, {"--spirv-max-version=1.0", "--spirv-fp-contract=off", bitcode, "-o", module});
  if (!tools().validator.empty()) run(folder, name, tools().validator, {"--target-env", "opencl2.1", module});
  std::vector<std::byte> bytes = read_module(module);
  if (const std::string problem = spirv_problem(bytes); !problem.empty())
    fail(ErrorCode::internal, fmt::format("{} made of {}: {}", tools().translator, name, problem));
  return bytes;
}

}  // namespace

std::vector<std::byte> compile_spirv(const std::string& name, const std::string& text) {
  return compile_once("xpu:spirv", text, [&] { return compile(name, text); });
}

std::string spirv_compiler() {
  const Tools& t = tools();
  std::string names = fs::path(t.clang).filename().string() + ", " + fs::path(t.translator).filename().string();
  return t.validator.empty() ? names : names + ", spirv-val";
}

}  // namespace tern
