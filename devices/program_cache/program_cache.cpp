#include "devices/program_cache/program_cache.h"

#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <span>
#include <vector>

#include "platform/environment.h"
#include "platform/path.h"
#include "user_files/pending_file.h"
#include "user_files/user_folder.h"

namespace tern {
namespace {

constexpr std::uint64_t kMaxTotalBytes = std::uint64_t{256} << 20;  // also the largest file
constexpr int kStoresPerTrim = 64;                                  // programs stored between two calls of trim()
constexpr std::time_t kMaxWriteSeconds = 3600;                      // older unfinished files have lost their writer
constexpr char kMagic[8] = {'t', 'e', 'r', 'n', 'p', 'r', 'g', '2'};
constexpr std::string_view kProgram = ".program", kUnfinished = ".program.tmp";

/// Header of a file; the bytes of identity and program follow. The hash of the program detects damage. The identity is
/// compared whole: XXH3 is no cryptographic hash, and a hostile archive may choose the text of its kernels.
struct ProgramFileHeader {
  char magic[8];
  XXH128_hash_t identity, program;
  std::uint64_t identity_bytes, bytes;
};

/// Size of a file; more than kMaxTotalBytes if identity or program is too large.
std::uint64_t file_size(std::uint64_t identity_bytes, std::uint64_t bytes) {
  return sizeof(ProgramFileHeader) + std::min(identity_bytes, kMaxTotalBytes) + std::min(bytes, kMaxTotalBytes);
}

/// Path of the cache's folder; empty without a cache.
std::string folder_path() {
  const auto configured = platform::trusted_variable("TERN_CACHE");
  if (!configured) return default_cache_path("programs");
  return platform::path_of(*configured).is_absolute() ? *configured + "/programs" : std::string();
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

bool read_all(const platform::File& file, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const std::int64_t count = file.read(bytes);
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

bool is_cache_file(const std::string& name) {
  return is_numbered(name, 32, kProgram) || is_numbered(name, 16, kUnfinished);
}

/// Deletes abandoned unfinished files and files larger than any program, then the programs unused for longest until the
/// total is within kMaxTotalBytes.
void trim(const UserFolder& folder) {
  std::uint64_t total = 0;
  std::vector<UserFolder::File> programs;
  for (UserFolder::File& f : folder.files(is_cache_file)) {
    const bool is_program = f.name.ends_with(kProgram);
    if ((!is_program && f.age > kMaxWriteSeconds) || f.size > kMaxTotalBytes) {
      folder.folder().remove(f.name);
      continue;
    }
    total += f.size;
    if (is_program) programs.push_back(std::move(f));
  }
  std::ranges::sort(programs, std::ranges::greater(), &UserFolder::File::age);
  for (const UserFolder::File& f : programs) {
    if (total <= kMaxTotalBytes) return;
    folder.folder().remove(f.name);
    total -= f.size;
  }
}

}  // namespace

std::string cached_program(const std::string& identity) {
  const UserFolder folder(folder_path());
  if (!folder.usable()) return {};
  const XXH128_hash_t key = hash_of(identity);
  const platform::File file = folder.folder().open_file(file_name(key));
  const auto info = file.is_open() ? file.info() : std::nullopt;
  ProgramFileHeader header{};
  if (!info || !info->is_own_file() || !read_all(file, std::as_writable_bytes(std::span(&header, 1))) ||
      std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || !is_equal(header.identity, key) ||
      header.identity_bytes != identity.size() || info->size > kMaxTotalBytes ||
      file_size(identity.size(), header.bytes) != info->size)
    return {};
  std::string stored_identity(identity.size(), 0), program(header.bytes, 0);
  if (!read_all(file, std::as_writable_bytes(std::span(stored_identity))) || stored_identity != identity ||
      !read_all(file, std::as_writable_bytes(std::span(program))) || !is_equal(hash_of(program), header.program))
    return {};
  file.touch();  // marks recent use: the oldest programs are deleted first
  return program;
}

void store_program(const std::string& identity, const std::string& program) {
  static std::atomic<int> store_count{0};
  const std::uint64_t size = file_size(identity.size(), program.size());
  if (program.empty() || size > kMaxTotalBytes) return;
  const UserFolder folder(folder_path());
  if (!folder.usable()) return;
  const XXH128_hash_t key = hash_of(identity);
  ProgramFileHeader header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.identity = key;
  header.program = hash_of(program);
  header.identity_bytes = identity.size();
  header.bytes = program.size();
  {
    PendingFile file(folder.folder(), kUnfinished, size);
    if (!file.is_open() || !file.write(std::as_bytes(std::span(&header, 1))) ||
        !file.write(std::as_bytes(std::span(identity))) || !file.write(std::as_bytes(std::span(program))) ||
        !file.rename(file_name(key)))
      return;
  }
  if (store_count++ % kStoresPerTrim == 0) trim(folder);
}

}  // namespace tern
