#include "devices/program_cache/program_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <span>
#include <vector>

#include "user_files/pending_file.h"
#include "user_files/user_folder.h"

namespace tern {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;
constexpr int kTrimEvery = 64;              // programs stored between two checks of the total size
constexpr std::time_t kTimeToWrite = 3600;  // age in seconds of an unfinished file without a writer
constexpr char kMagic[8] = {'t', 'e', 'r', 'n', 'p', 'r', 'g', '1'};
constexpr std::string_view kProgram = ".program", kUnfinished = ".program.tmp";

/// Header of a file. The program's hash detects damage, the identity's hash a file under another name.
struct ProgramFileHeader {
  char magic[8];
  XXH128_hash_t identity, program;
  std::uint64_t bytes;
};

std::string folder_path() {
  const char* own = ::secure_getenv("TERN_CACHE");
  if (own == nullptr) return default_cache_path("programs");
  return *own == '/' ? std::string(own) + "/programs" : std::string();
}

XXH128_hash_t hash(const std::string& s) {
  return XXH3_128bits(s.data(), s.size());
}

bool same(XXH128_hash_t a, XXH128_hash_t b) {
  return a.low64 == b.low64 && a.high64 == b.high64;
}

std::string name_of(XXH128_hash_t h) {
  return numbered_name(h.high64, h.low64, kProgram);
}

bool read_all(int file, void* to, std::size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t n = ::read(file, at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

bool is_ours(const std::string& name) {
  return is_numbered(name, 32, kProgram) || is_numbered(name, 16, kUnfinished);
}

void trim(const UserFolder& folder) {
  std::uint64_t total = 0;
  std::vector<UserFolder::File> programs;
  for (UserFolder::File& f : folder.files(is_ours)) {
    const bool is_program = f.name.ends_with(kProgram);
    if (!is_program && f.age > kTimeToWrite) {
      folder.remove(f.name);
      continue;
    }
    total += f.size;
    if (is_program) programs.push_back(std::move(f));
  }
  std::ranges::sort(programs, std::ranges::greater(), &UserFolder::File::age);
  for (const UserFolder::File& f : programs) {
    if (total <= kMostBytes) return;
    folder.remove(f.name);
    total -= f.size;
  }
}

}  // namespace

std::string cached_program(const std::string& identity) {
  const UserFolder folder(folder_path());
  if (!folder.usable()) return {};
  const XXH128_hash_t key = hash(identity);
  const FileDescriptor file = folder.open(name_of(key));
  struct stat info {};
  ProgramFileHeader h{};
  if (!file.is_open() || ::fstat(file.number(), &info) != 0 || !is_own_file(info) ||
      !read_all(file.number(), &h, sizeof h) || std::memcmp(h.magic, kMagic, sizeof kMagic) != 0 ||
      !same(h.identity, key) || h.bytes > kMostBytes || sizeof h + h.bytes != static_cast<std::uint64_t>(info.st_size))
    return {};
  std::string program(h.bytes, 0);
  if (!read_all(file.number(), program.data(), program.size()) || !same(hash(program), h.program)) return {};
  ::futimens(file.number(), nullptr);  // marks recent use: the oldest programs are deleted first
  return program;
}

void keep_program(const std::string& identity, const std::string& program) {
  static std::atomic<int> kept{0};
  if (program.empty() || program.size() > kMostBytes) return;
  const UserFolder folder(folder_path());
  if (!folder.usable()) return;
  const XXH128_hash_t key = hash(identity);
  ProgramFileHeader h{};
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  h.identity = key;
  h.program = hash(program);
  h.bytes = program.size();
  {
    PendingFile file(folder.descriptor(), kUnfinished, sizeof h + h.bytes);
    if (!file.is_open() || !file.write(std::as_bytes(std::span(&h, 1))) ||
        !file.write(std::as_bytes(std::span(program))) || !file.rename(name_of(key)))
      return;
  }
  if (kept++ % kTrimEvery == 0) trim(folder);
}

}  // namespace tern
