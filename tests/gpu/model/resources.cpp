#include "tests/gpu/model/resources.h"

#include <fmt/format.h>
#include <tern/error.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

namespace tern::gpu_model {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string quote(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// The output of ptxas -v for a module.
std::string messages(const std::string& ptx, const std::string& ptxas, const std::string& cache) {
  const std::string source = kept_text(ptx, cache), kept = source + "as", log = fmt::format("{}.{}", kept, getpid());
  if (fs::exists(kept)) return read(kept);
  const std::string command =
      fmt::format("{} -v -arch=sm_90 -o /dev/null {} 2>{}", quote(ptxas), quote(source), quote(log));
  const bool succeeded = std::system(command.c_str()) == 0;
  const std::string text = read(log);
  if (!succeeded) fail(ErrorCode::runtime, fmt::format("{} refuses {}: {}", ptxas, source, text.substr(0, 2000)));
  fs::rename(log, kept);
  return text;
}

// The number before ` words` in `text`.
std::uint32_t number_before(const std::string& text, const char* words) {
  const std::size_t at = text.find(words);
  if (at == std::string::npos) fail(ErrorCode::runtime, fmt::format("ptxas -v says nothing of '{}': {}", words, text));
  std::size_t begin = at;
  while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
  return static_cast<std::uint32_t>(std::strtoul(text.substr(begin, at - begin).c_str(), nullptr, 10));
}

}  // namespace

std::string kept_text(const std::string& ptx, const std::string& cache) {
  const fs::path path = fs::path(cache) / fmt::format("{:016x}.ptx", XXH3_64bits(ptx.data(), ptx.size()));
  if (fs::exists(path)) return path.string();
  fs::create_directories(cache);
  const std::string part = fmt::format("{}.{}", path.string(), getpid());
  std::ofstream(part, std::ios::binary) << ptx;
  fs::rename(part, path);
  return path.string();
}

Resources resources_of(const std::string& ptx, const std::string& kernel, const std::string& ptxas,
                       const std::string& cache) {
  const std::string all = messages(ptx, ptxas, cache);
  const std::size_t at = all.find(fmt::format("Compiling entry function '{}'", kernel));
  if (at == std::string::npos)
    fail(ErrorCode::runtime, fmt::format("ptxas -v says nothing of kernel {}: {}", kernel, all));
  const std::string text = all.substr(at, all.find("Compiling entry function", at + 1) - at);
  return {number_before(text, " registers"),
          number_before(text, " bytes spill stores") + number_before(text, " bytes spill loads"),
          number_before(text, " bytes stack frame")};
}

}  // namespace tern::gpu_model
