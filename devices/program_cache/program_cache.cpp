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

constexpr std::uint64_t kMaxTotalBytes = std::uint64_t{256} << 20;  // also the largest program
constexpr int kStoresPerTrim = 64;                                  // programs stored between two calls of trim()
constexpr std::time_t kMaxWriteSeconds = 3600;                      // older unfinished files have lost their writer
constexpr char kMagic[8] = {'t', 'e', 'r', 'n', 'p', 'r', 'g', '1'};
constexpr std::string_view kProgram = ".program", kUnfinished = ".program.tmp";

/// Header of a file; the program's bytes follow. The hash of the program detects damage, the hash of the identity a
/// renamed file.
struct ProgramFileHeader {
  char magic[8];
  XXH128_hash_t identity, program;
  std::uint64_t bytes;
};

/// Path of the cache's folder; empty without a cache.
std::string folder_path() {
  const char* configured = ::secure_getenv("TERN_CACHE");
  if (configured == nullptr) return default_cache_path("programs");
  return *configured == '/' ? std::string(configured) + "/programs" : std::string();
}

XXH128_hash_t hash_of(const std::string& s) {
  return XXH3_128bits(s.data(), s.size());
}

bool is_equal(XXH128_hash_t a, XXH128_hash_t b) {
  return a.low64 == b.low64 && a.high64 == b.high64;
}

std::string file_name(XXH128_hash_t identity_hash) {
  return numbered_name(identity_hash.high64, identity_hash.low64, kProgram);
}

bool read_all(int file, void* buffer, std::size_t bytes) {
  auto* position = static_cast<char*>(buffer);
  while (bytes > 0) {
    const ssize_t bytes_read = ::read(file, position, bytes);
    if (bytes_read < 0 && errno == EINTR) continue;
    if (bytes_read <= 0) return false;
    position += bytes_read;
    bytes -= static_cast<std::size_t>(bytes_read);
  }
  return true;
}

bool is_cache_file(const std::string& name) {
  return is_numbered(name, 32, kProgram) || is_numbered(name, 16, kUnfinished);
}

/// Deletes abandoned unfinished files, then the programs unused for longest until the total is within kMaxTotalBytes.
void trim(const UserFolder& folder) {
  std::uint64_t total = 0;
  std::vector<UserFolder::File> programs;
  for (UserFolder::File& f : folder.files(is_cache_file)) {
    const bool is_program = f.name.ends_with(kProgram);
    if (!is_program && f.age > kMaxWriteSeconds) {
      folder.remove(f.name);
      continue;
    }
    total += f.size;
    if (is_program) programs.push_back(std::move(f));
  }
  std::ranges::sort(programs, std::ranges::greater(), &UserFolder::File::age);
  for (const UserFolder::File& f : programs) {
    if (total <= kMaxTotalBytes) return;
    folder.remove(f.name);
    total -= f.size;
  }
}

}  // namespace

std::string cached_program(const std::string& identity) {
  const UserFolder folder(folder_path());
  if (!folder.usable()) return {};
  const XXH128_hash_t key = hash_of(identity);
  const FileDescriptor file = folder.open(file_name(key));
  struct stat info {};
  ProgramFileHeader header{};
  if (!file.is_open() || ::fstat(file.number(), &info) != 0 || !is_own_file(info) ||
      !read_all(file.number(), &header, sizeof header) || std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 ||
      !is_equal(header.identity, key) || header.bytes > kMaxTotalBytes ||
      sizeof header + header.bytes != static_cast<std::uint64_t>(info.st_size))
    return {};
  std::string program(header.bytes, 0);
  if (!read_all(file.number(), program.data(), program.size()) || !is_equal(hash_of(program), header.program))
    return {};
  ::futimens(file.number(), nullptr);  // marks recent use: the oldest programs are deleted first
  return program;
}

void store_program(const std::string& identity, const std::string& program) {
  static std::atomic<int> store_count{0};
  if (program.empty() || program.size() > kMaxTotalBytes) return;
  const UserFolder folder(folder_path());
  if (!folder.usable()) return;
  const XXH128_hash_t key = hash_of(identity);
  ProgramFileHeader header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.identity = key;
  header.program = hash_of(program);
  header.bytes = program.size();
  {
    PendingFile file(folder.descriptor(), kUnfinished, sizeof header + header.bytes);
    if (!file.is_open() || !file.write(std::as_bytes(std::span(&header, 1))) ||
        !file.write(std::as_bytes(std::span(program))) || !file.rename(file_name(key)))
      return;
  }
  if (store_count++ % kStoresPerTrim == 0) trim(folder);
}

}  // namespace tern
