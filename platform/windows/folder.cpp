#include "platform/folder.h"

#include <memory>
#include <vector>

#include "platform/path.h"
#include "platform/random.h"
#include "platform/windows/info.h"
#include "platform/windows/system.h"

namespace tern::platform {
namespace {

std::string joined(const std::string& folder, const std::string& name) {
  return folder + "\\" + name;
}

/// Creates a folder whose contents only this process's user, administrators and the system can change.
bool make_private(const std::wstring& path) {
  // Owner, administrators and system have all rights, also in files and folders inside. P: nothing is inherited.
  constexpr const wchar_t* kRights = L"D:P(A;OICI;FA;;;OW)(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)";
  PSECURITY_DESCRIPTOR descriptor = nullptr;
  if (::ConvertStringSecurityDescriptorToSecurityDescriptorW(kRights, SDDL_REVISION_1, &descriptor, nullptr) == 0)
    return false;
  const std::unique_ptr<void, decltype(&::LocalFree)> owned(descriptor, &::LocalFree);
  SECURITY_ATTRIBUTES attributes{sizeof attributes, descriptor, FALSE};
  return ::CreateDirectoryW(path.c_str(), &attributes) != 0;
}

}  // namespace

// FILE_SHARE_DELETE is absent: nobody can rename or delete the open folder, so that its path stays valid.
Folder::Folder(const std::string& path, bool follow_link) : path_(path) {
  const std::string resolved = resolved_path(path);
  const File found = open_shared(wide_path(path), FILE_READ_ATTRIBUTES | READ_CONTROL, OPEN_EXISTING,
                                 FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT);
  const auto kind = found.is_open() ? info_of_handle(handle_of(found)) : std::nullopt;
  if (!kind) return;
  if (kind->kind == FileInfo::Kind::link && !follow_link) {
    ::SetLastError(ERROR_STOPPED_ON_SYMLINK);
    return;
  }
  File folder = open_shared(wide_path(resolved), FILE_LIST_DIRECTORY | FILE_READ_ATTRIBUTES | READ_CONTROL,
                            OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, FILE_SHARE_READ | FILE_SHARE_WRITE);
  if (!folder.is_open()) return;
  const auto facts = folder.info();
  if (!facts || facts->kind != FileInfo::Kind::folder) {
    ::SetLastError(ERROR_DIRECTORY);
    return;
  }
  path_ = resolved;
  folder_ = std::move(folder);
}

std::optional<FileInfo> Folder::info_of(const std::string& name) const {
  const File file = open_shared(wide_path(joined(path_, name)), FILE_READ_ATTRIBUTES | READ_CONTROL, OPEN_EXISTING,
                                FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT);
  return file.is_open() ? file.info() : std::nullopt;
}

File Folder::open_file(const std::string& name, Access access) const {
  // FILE_WRITE_ATTRIBUTES: touch() marks the use of files open for reading.
  const DWORD rights = access == Access::write ? GENERIC_READ | GENERIC_WRITE : GENERIC_READ | FILE_WRITE_ATTRIBUTES;
  File file = open_shared(wide_path(joined(path_, name)), rights, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT);
  if (!file.is_open()) return file;
  const auto info = file.info();
  if (info && info->kind != FileInfo::Kind::link) return file;
  file.close();
  ::SetLastError(ERROR_STOPPED_ON_SYMLINK);
  return file;
}

File Folder::create_file(const std::string& name, unsigned permissions) const {
  return platform::create_file(joined(path_, name), permissions);
}

bool Folder::rename(const std::string& from, const std::string& to) const {
  return replace_file(joined(path_, from), joined(path_, to));
}

bool Folder::link(const std::string& from, const std::string& to) const {
  return ::CreateHardLinkW(wide_path(joined(path_, to)).c_str(), wide_path(joined(path_, from)).c_str(), nullptr) != 0;
}

bool Folder::remove(const std::string& name) const {
  return remove_file(joined(path_, name));
}

std::vector<std::string> Folder::names() const {
  std::vector<std::string> names;
  WIN32_FIND_DATAW entry{};
  HANDLE search = ::FindFirstFileW(wide_path(joined(path_, "*")).c_str(), &entry);
  if (search == INVALID_HANDLE_VALUE) return names;
  do {
    const std::wstring_view name = entry.cFileName;
    if (name != L"." && name != L"..") names.push_back(narrow(name));
  } while (::FindNextFileW(search, &entry) != 0);
  ::FindClose(search);
  return names;
}

std::uint64_t Folder::free_bytes() const {
  ULARGE_INTEGER available{};
  return ::GetDiskFreeSpaceExW(wide_path(path_).c_str(), &available, nullptr, nullptr) != 0 ? available.QuadPart : 0;
}

Lock Folder::lock() {
  lock_ = open_shared(wide_path(joined(path_, "tern.lock")), GENERIC_WRITE | DELETE, CREATE_ALWAYS,
                      FILE_FLAG_DELETE_ON_CLOSE | FILE_ATTRIBUTE_HIDDEN, 0);
  if (lock_.is_open()) return Lock::acquired;
  return ::GetLastError() == ERROR_SHARING_VIOLATION ? Lock::busy : Lock::unsupported;
}

void Folder::sync() const {}  // replace_file() writes names through

void Folder::remove_if_empty() {
  lock_.close();
  folder_.close();
  ::RemoveDirectoryW(wide_path(path_).c_str());
}

bool can_write_folder(const std::string& path) {
  return open_shared(wide_path(path), FILE_LIST_DIRECTORY | FILE_ADD_FILE, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS)
      .is_open();
}

void make_folder(const std::string& path) {
  ::CreateDirectoryW(wide_path(path).c_str(), nullptr);
}

void make_private_folders(const std::string& path) {
  for (std::size_t end = path.find_first_of("/\\", 1); end != std::string::npos;
       end = path.find_first_of("/\\", end + 1)) {
    make_private(wide_path(path.substr(0, end)));
  }
  make_private(wide_path(path));
}

std::string make_temporary_folder(const std::string& prefix) {
  constexpr int kTurns = 100;
  wchar_t parent[MAX_PATH + 1] = {};
  if (::GetTempPathW(MAX_PATH + 1, parent) == 0) return {};
  for (int turn = 0; turn < kTurns; ++turn) {
    const std::string path = narrow(parent) + prefix + std::to_string(random_number());
    if (make_private(wide_path(path))) return path;
    if (::GetLastError() != ERROR_ALREADY_EXISTS) return {};
  }
  return {};
}

}  // namespace tern::platform
