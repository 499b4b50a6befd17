#include "tests/gpu/amd/cache.h"

#include <dlfcn.h>
#include <unistd.h>
#include <xxhash.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "tests/gpu/amd/command.h"
#include "tests/gpu/amd/toolchain.h"

namespace tern::gpu::amd {
namespace fs = std::filesystem;
namespace {

fs::path folder() {
  const char* name = std::getenv("TERN_EMULATOR_CACHE");
  return name == nullptr ? "" : name;
}

// Size and time of a file: another build of the emulator misses this build's entries.
std::string stamp(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  const auto time = fs::last_write_time(path, error);
  return error ? "" : std::to_string(size) + ' ' + std::to_string(time.time_since_epoch().count());
}

std::string build() {
  Dl_info self{};
  dladdr(reinterpret_cast<const void*>(&cache_key), &self);
  return stamp(self.dli_fname == nullptr ? "" : self.dli_fname) + ' ' + stamp(runtime_bitcode()) + ' ' + stamp(clang());
}

}  // namespace

std::string cache_key(std::string_view content) {
  static const std::string emulator = build();
  const std::string all = emulator + '\n' + std::string(content);
  const XXH128_hash_t hash = XXH3_128bits(all.data(), all.size());
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

std::optional<std::string> find_cached(const std::string& key) {
  const fs::path path = folder() / (key + ".so");
  std::error_code error;
  if (folder().empty() || !fs::exists(path, error)) return std::nullopt;
  return read_file(path);
}

void keep_cached(const std::string& key, std::string_view library) {
  if (folder().empty()) return;
  static std::atomic<unsigned> number{0};
  fs::create_directories(folder());
  const fs::path part = folder() / (key + '.' + std::to_string(getpid()) + '.' + std::to_string(number++));
  write_file(part, library);
  fs::rename(part, folder() / (key + ".so"));  // others see the whole file or none
}

}  // namespace tern::gpu::amd
