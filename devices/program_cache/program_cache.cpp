#include "devices/program_cache/program_cache.h"

#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

namespace tern {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostBytes = std::uintmax_t{256} << 20;
constexpr int kTrimEvery = 64;  // programs kept between two looks at the size of all
constexpr char kMagic[8] = {'t', 'e', 'r', 'n', 'p', 'r', 'g', '1'};

/// What a file begins with. The hash of the program guards against damage, that of the identity against a file of
/// another name.
struct Header {
  char magic[8];
  XXH128_hash_t identity, program;
  std::uint64_t bytes;
};

fs::path folder() {
  if (const char* own = std::getenv("TERN_CACHE")) return own;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != 0)
    return fs::path(cache) / "tern";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != 0) return fs::path(home) / ".cache" / "tern";
  return {};
}

XXH128_hash_t hash(const std::string& s) {
  return XXH3_128bits(s.data(), s.size());
}

bool same(XXH128_hash_t a, XXH128_hash_t b) {
  return a.low64 == b.low64 && a.high64 == b.high64;
}

fs::path file_of(XXH128_hash_t h) {
  char name[48];
  std::snprintf(name, sizeof name, "%016llx%016llx.program", static_cast<unsigned long long>(h.high64),
                static_cast<unsigned long long>(h.low64));
  const fs::path where = folder();
  return where.empty() ? where : where / "programs" / name;
}

void trim(const fs::path& where) {
  struct File {
    fs::path path;
    fs::file_time_type used;
    std::uintmax_t size;
  };
  std::error_code ignored;
  std::vector<File> files;
  std::uintmax_t total = 0;
  for (const fs::directory_entry& e : fs::directory_iterator(where, ignored)) {
    files.push_back({e.path(), e.last_write_time(ignored), e.file_size(ignored)});
    total += files.back().size;
  }
  std::ranges::sort(files, {}, &File::used);
  for (const File& f : files) {
    if (total <= kMostBytes) return;
    fs::remove(f.path, ignored);
    total -= f.size;
  }
}

}  // namespace

std::string cached_program(const std::string& identity) {
  const XXH128_hash_t key = hash(identity);
  const fs::path path = file_of(key);
  if (path.empty()) return {};
  std::ifstream in(path, std::ios::binary);
  Header h{};
  if (!in.read(reinterpret_cast<char*>(&h), sizeof h) || std::memcmp(h.magic, kMagic, sizeof kMagic) != 0 ||
      !same(h.identity, key) || h.bytes > kMostBytes)
    return {};
  std::string program(h.bytes, 0);
  if (!in.read(program.data(), static_cast<std::streamsize>(h.bytes))) return {};
  if (!same(XXH3_128bits(program.data(), program.size()), h.program)) return {};
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);  // the oldest go first
  return program;
}

void keep_program(const std::string& identity, const std::string& program) {
  static std::atomic<int> kept{0};
  const XXH128_hash_t key = hash(identity);
  const fs::path path = file_of(key);
  if (path.empty() || program.empty()) return;
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  Header h{};
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  h.identity = key;
  h.program = XXH3_128bits(program.data(), program.size());
  h.bytes = program.size();
  const int number = kept++;
  const fs::path temporary = path.string() + "." + std::to_string(getpid()) + "." + std::to_string(number);
  {
    std::ofstream out(temporary, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&h), sizeof h);
    out.write(program.data(), static_cast<std::streamsize>(program.size()));
    if (!out) {
      out.close();
      fs::remove(temporary, ignored);
      return;
    }
  }
  fs::rename(temporary, path, ignored);
  if (ignored) fs::remove(temporary, ignored);
  if (number % kTrimEvery == 0) trim(path.parent_path());
}

}  // namespace tern
