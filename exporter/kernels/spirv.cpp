#include "exporter/kernels/spirv.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <span>
#include <utility>

#include "exporter/kernels/process.h"
#include "loader/hash.h"
#include "loader/spirv.h"

namespace tern {
namespace {

namespace fs = std::filesystem;

// The two have to be of one version of LLVM; 15 is what the texts are tried with.
constexpr const char* kVersions[] = {"-15", "-16", "-17", "-18", "-19", "-20", "-21", ""};

struct Tools {
  std::string clang, translator, validator;  ///< paths; the last may be empty
};

Tools find_tools() {
  for (const char* version : kVersions) {
    Tools t{find_program(fmt::format("clang{}", version)), find_program(fmt::format("llvm-spirv{}", version)),
            find_program("spirv-val")};
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

/// A folder that is gone when this goes out of scope.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "tern-kernel-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      fail(ErrorCode::io, fmt::format("no temporary folder can be made in '{}'", fs::temp_directory_path().string()));
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

void run(const std::string& kernel, const std::string& program, const std::vector<std::string>& arguments) {
  const ProcessResult result = run_program(program, arguments);
  if (result.status == 0) return;
  constexpr std::size_t kMost = 2000;
  fail(ErrorCode::internal, fmt::format("{} refuses the kernel {} (status {}): {}", program, kernel, result.status,
                                        result.output.substr(0, kMost)));
}

std::vector<std::byte> compile(const std::string& name, const std::string& text) {
  const TemporaryFolder folder;
  const std::string source = folder.file("kernel.cl"), bitcode = folder.file("kernel.bc"),
                    module = folder.file("kernel.spv");
  if (!(std::ofstream(source, std::ios::binary) << text).flush())
    fail(ErrorCode::io, fmt::format("'{}' cannot be written", source));
  // Optimised by the driver alone: what clang's passes leave is not always what llvm-spirv takes.
  run(name, tools().clang,
      {"-x", "cl", "-cl-std=CL1.2", "-target", "spir64-unknown-unknown", "-Xclang", "-finclude-default-header",
       "-Xclang", "-fdeclare-opencl-builtins", "-O2", "-Xclang", "-disable-llvm-passes", "-ffp-contract=off",
       "-emit-llvm", "-c", "-w", source, "-o", bitcode});
  run(name, tools().translator, {"--spirv-max-version=1.0", "--spirv-fp-contract=off", bitcode, "-o", module});
  if (!tools().validator.empty()) run(name, tools().validator, {"--target-env", "opencl2.1", module});
  std::ifstream in(module, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  const auto view = std::as_bytes(std::span(bytes));
  if (const std::string problem = spirv_problem(view); !problem.empty())
    fail(ErrorCode::internal, fmt::format("{} made of {}: {}", tools().translator, name, problem));
  return {view.begin(), view.end()};
}

}  // namespace

std::vector<std::byte> compile_spirv(const std::string& name, const std::string& text) {
  static std::mutex mutex;
  static std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::byte>> made;  // by the hash of the text
  const Hash128 hash = hash_of(std::as_bytes(std::span(text)));
  const std::pair key(hash.low, hash.high);
  {
    const std::lock_guard lock(mutex);
    if (const auto at = made.find(key); at != made.end()) return at->second;
  }
  std::vector<std::byte> module = compile(name, text);
  const std::lock_guard lock(mutex);
  return made.emplace(key, std::move(module)).first->second;
}

std::string spirv_compiler() {
  const Tools& t = tools();
  std::string names = fs::path(t.clang).filename().string() + ", " + fs::path(t.translator).filename().string();
  return t.validator.empty() ? names : names + ", spirv-val";
}

}  // namespace tern
