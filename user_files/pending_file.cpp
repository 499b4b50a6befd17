#include "user_files/pending_file.h"

#include <algorithm>
#include <cstdio>

#include "platform/random.h"

namespace tern {
namespace {

/// Size of a large page: Linux caches files written in such pieces in large pages, and readers mapping the file have
/// fewer page faults.
constexpr std::size_t kPiece = std::size_t{2} << 20;

std::string digits_of(std::uint64_t number) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(number));
  return digits;
}

}  // namespace

PendingFile::PendingFile(const platform::Folder& folder, std::string_view suffix, std::uint64_t bytes, unsigned mode)
    : folder_(folder), name_(temporary_name(suffix)) {
  if (folder.is_open() && bytes <= platform::largest_file_size()) file_ = folder.create_file(name_, mode);
  is_unnamed_ = file_.is_open();
  // Tells other processes that the file has a writer; without locks the file's age does.
  if (is_unnamed_) file_.lock();
}

PendingFile::~PendingFile() {
  if (is_unnamed_) folder_.remove(name_);
}

bool PendingFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t now = std::min(bytes.size(), kPiece - size_ % kPiece);
    if (!file_.write(bytes.first(now))) return false;
    size_ += now;
    bytes = bytes.subspan(now);
  }
  return is_open();
}

bool PendingFile::rename(const std::string& name) {
  if (!is_unnamed_ || !folder_.rename(name_, name)) return false;
  is_unnamed_ = false;
  return true;
}

std::string temporary_name(std::string_view suffix) {
  // Random instead of the process number: containers sharing the folder count processes separately.
  return digits_of(platform::random_number()).append(suffix);
}

bool is_numbered(std::string_view name, std::size_t digits, std::string_view suffix) {
  return name.size() == digits + suffix.size() && name.ends_with(suffix) &&
         std::ranges::all_of(name.substr(0, digits),
                             [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string numbered_name(std::uint64_t high, std::uint64_t low, std::string_view suffix) {
  return digits_of(high).append(digits_of(low)).append(suffix);
}

}  // namespace tern
