#include "exporter/kernels/run_compiler.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <span>
#include <tuple>
#include <utility>

#include "dtypes/printable.h"
#include "loader/hash.h"
#include "platform/environment.h"
#include "platform/folder.h"
#include "platform/path.h"

namespace tern {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxShownOutput = 2000;  // characters of compiler output shown in a message

std::chrono::seconds time_limit() {
  constexpr int kDefaultSeconds = 300, kMaxSeconds = 1'000'000;
  const std::string text = platform::trusted_variable("TERN_COMPILER_SECONDS").value_or("");
  if (text.empty()) return std::chrono::seconds(kDefaultSeconds);
  int seconds = 0;
  const char* end = text.data() + text.size();
  if (const auto parsed = std::from_chars(text.data(), end, seconds);
      parsed.ec != std::errc() || parsed.ptr != end || seconds < 1 || seconds > kMaxSeconds)
    fail(ErrorCode::invalid_argument,
         fmt::format("TERN_COMPILER_SECONDS is '{}'; it takes a whole number of seconds from 1 to {}", text,
                     kMaxSeconds));
  return std::chrono::seconds(seconds);
}

}  // namespace

std::string run_compiler(const CompilerProgram& compiler, const std::string& task,
                         const std::vector<std::string>& arguments, const CompilerFolder* folder,
                         const platform::EnvironmentVariables& variables) {
  const std::chrono::seconds limit = time_limit();
  platform::ProcessResult result = platform::run_process(compiler.path, arguments, limit, variables);
  if (!result.problem.empty()) fail(ErrorCode::io, result.problem);
  if (result.status == 0 && !result.is_late) return std::move(result.output);
  std::string output = result.output.substr(0, kMaxShownOutput);
  output = indented(folder == nullptr ? output : folder->remove_path(output));
  if (result.is_late)
    fail(ErrorCode::unsupported,
         fmt::format(
             "{} did not finish within {} s of {} and was stopped: {}, or allow more time in TERN_COMPILER_SECONDS",
             compiler.name, limit.count(), task, compiler.remedy));
  if (!result.crash.empty())
    fail(ErrorCode::unsupported, fmt::format("{} crashed ({}) while {}: {}{}{}", compiler.name, result.crash, task,
                                             compiler.remedy, output.empty() ? "" : ". It printed:\n  ", output));
  if (compiler.explains) fail(ErrorCode::unsupported, task + ": " + output);
  fail(ErrorCode::unsupported,
       fmt::format("{} failed (status {}) while {}: {}", compiler.name, result.status, task, output));
}

CompilerFolder::CompilerFolder() {
  path_ = platform::make_temporary_folder("tern-kernel-");
  if (path_.empty())
    fail(ErrorCode::io, fmt::format("cannot create a temporary folder in '{}'; set TMPDIR to another folder",
                                    platform::text_of(fs::temp_directory_path())));
}

CompilerFolder::~CompilerFolder() {
  std::error_code ignored;
  fs::remove_all(platform::path_of(path_), ignored);
}

std::string CompilerFolder::remove_path(std::string text) const {
  for (std::size_t position = 0; (position = text.find(path_ + "/", position)) != std::string::npos;)
    text.erase(position, path_.size() + 1);
  return text;
}

void write_source(const std::string& path, const std::string& text) {
  if (!(std::ofstream(platform::path_of(path), std::ios::binary) << text).flush())
    fail(ErrorCode::io, fmt::format("cannot write the text of a kernel in '{}'; set TMPDIR to another folder",
                                    platform::text_of(fs::temp_directory_path())));
}

std::vector<std::byte> read_module(const std::string& path) {
  std::ifstream file(platform::path_of(path), std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  return {begin, begin + bytes.size()};
}

std::vector<std::byte> compile_once(const std::string& target, const std::string& text,
                                    const std::function<std::vector<std::byte>()>& compile) {
  static std::mutex mutex;
  static std::map<std::tuple<std::string, std::uint64_t, std::uint64_t>, std::vector<std::byte>> modules;
  const Hash128 hash = hash_of(std::as_bytes(std::span(text)));
  const std::tuple key(target, hash.low, hash.high);
  {
    const std::lock_guard lock(mutex);
    if (const auto found = modules.find(key); found != modules.end()) return found->second;
  }
  std::vector<std::byte> module = compile();
  const std::lock_guard lock(mutex);
  return modules.emplace(key, std::move(module)).first->second;
}

}  // namespace tern
