#include "platform/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "platform/posix/info.h"

namespace tern::platform {
namespace {

int descriptor_in(const File& folder) {
  return static_cast<int>(folder.handle());
}

}  // namespace

Folder::Folder(const std::string& path, bool follow_link)
    : folder_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follow_link ? 0 : O_NOFOLLOW))), path_(path) {}

std::optional<FileInfo> Folder::info_of(const std::string& name) const {
  struct stat found {};
  if (::fstatat(descriptor_in(folder_), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) return {};
  return convert_info(found);
}

File Folder::open_file(const std::string& name, Access access) const {
  const int flags = access == Access::write ? O_RDWR : O_RDONLY;
  return File(::openat(descriptor_in(folder_), name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

File Folder::create_file(const std::string& name, unsigned permissions) const {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  return File(::openat(descriptor_in(folder_), name.c_str(), kFlags, static_cast<mode_t>(permissions)));
}

bool Folder::rename(const std::string& from, const std::string& to) const {
  return ::renameat(descriptor_in(folder_), from.c_str(), descriptor_in(folder_), to.c_str()) == 0;
}

bool Folder::link(const std::string& from, const std::string& to) const {
  return ::linkat(descriptor_in(folder_), from.c_str(), descriptor_in(folder_), to.c_str(), 0) == 0;
}

bool Folder::remove(const std::string& name) const {
  return ::unlinkat(descriptor_in(folder_), name.c_str(), 0) == 0;
}

std::vector<std::string> Folder::names() const {
  std::vector<std::string> names;
  // Opens a separate description: the listing position belongs to the description.
  const int descriptor = ::openat(descriptor_in(folder_), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(descriptor), &::closedir);
  if (listing == nullptr) {
    ::close(descriptor);
    return names;
  }
  while (const dirent* entry = ::readdir(listing.get())) {  // NOLINT(concurrency-mt-unsafe): the listing is our own
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

std::uint64_t Folder::free_bytes() const {
  struct statvfs info {};
  return ::fstatvfs(descriptor_in(folder_), &info) == 0 ? std::uint64_t{info.f_bavail} * info.f_frsize : 0;
}

Lock Folder::lock() {
  return folder_.lock();
}

void Folder::sync() const {
  folder_.sync();
}

void Folder::remove_if_empty() {
  ::rmdir(path_.c_str());
  folder_.close();
}

bool can_write_folder(const std::string& path) {
  return ::access(path.c_str(), R_OK | W_OK | X_OK) == 0;
}

void make_folder(const std::string& path) {
  ::mkdir(path.c_str(), 0777);
}

void make_private_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
    ::mkdir(path.substr(0, end).c_str(), 0700);
  }
  ::mkdir(path.c_str(), 0700);
}

std::string make_temporary_folder(const std::string& prefix) {
  std::error_code error;
  std::string path = (std::filesystem::temp_directory_path(error) / (prefix + "XXXXXX")).string();
  return error || ::mkdtemp(path.data()) == nullptr ? std::string() : path;
}

}  // namespace tern::platform
