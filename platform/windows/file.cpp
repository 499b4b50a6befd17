#include "platform/file.h"

#include <algorithm>
#include <array>
#include <limits>
#include <thread>

#include "platform/path.h"
#include "platform/windows/info.h"
#include "platform/windows/system.h"

namespace tern::platform {
namespace {

constexpr std::size_t kMaxTransfer = std::size_t{1} << 30;
/// Locks bytes behind the end of any file: locks of Windows keep others from reading and writing.
constexpr DWORD kLockOffset = 0xfffffffe, kLockHigh = 0x7fffffff;

OVERLAPPED overlapped_at(std::uint64_t offset) {
  OVERLAPPED where{};
  where.Offset = static_cast<DWORD>(offset);
  where.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return where;
}

/// Result of a read of `got` bytes: the end of a file and of a pipe count as 0 bytes.
std::int64_t read_result(BOOL done, DWORD got) {
  if (done != 0) return got;
  const DWORD error = ::GetLastError();
  return error == ERROR_HANDLE_EOF || error == ERROR_BROKEN_PIPE ? 0 : -1;
}

bool is_in_use(DWORD error) {
  return error == ERROR_ACCESS_DENIED || error == ERROR_SHARING_VIOLATION || error == ERROR_USER_MAPPED_FILE ||
         error == ERROR_LOCK_VIOLATION;
}

bool move_name(const std::wstring& from, const std::wstring& to, DWORD flags) {
  return ::MoveFileExW(from.c_str(), to.c_str(), flags) != 0;
}

/// Name for a replaced file in use; deletes such files of earlier calls.
std::wstring name_of_replaced(const std::wstring& path) {
  constexpr int kNames = 1000;
  for (int i = 0; i < kNames; ++i) {
    std::wstring name = path + L".replaced." + std::to_wstring(i);
    if (::GetFileAttributesW(name.c_str()) == INVALID_FILE_ATTRIBUTES || ::DeleteFileW(name.c_str()) != 0) return name;
  }
  return {};
}

}  // namespace

FileTime convert_time(LONGLONG time) {
  constexpr LONGLONG kPerSecond = 10'000'000, kSeconds1601To1970 = 11'644'473'600;
  return {time / kPerSecond - kSeconds1601To1970, time % kPerSecond * 100};
}

std::optional<FileInfo> info_of_handle(HANDLE file) {
  FILE_BASIC_INFO basic{};
  BY_HANDLE_FILE_INFORMATION facts{};
  const DWORD type = ::GetFileType(file);
  if (type == FILE_TYPE_CHAR || type == FILE_TYPE_PIPE) return FileInfo{};
  if (::GetFileInformationByHandleEx(file, FileBasicInfo, &basic, sizeof basic) == 0 ||
      ::GetFileInformationByHandle(file, &facts) == 0)
    return {};
  FileInfo info;
  info.kind = (facts.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 ? FileInfo::Kind::link
              : (facts.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0   ? FileInfo::Kind::folder
                                                                           : FileInfo::Kind::regular;
  info.size = std::uint64_t{facts.nFileSizeHigh} << 32 | facts.nFileSizeLow;
  info.volume = facts.dwVolumeSerialNumber;
  info.number = std::uint64_t{facts.nFileIndexHigh} << 32 | facts.nFileIndexLow;
  info.modified = convert_time(basic.LastWriteTime.QuadPart);
  info.changed = convert_time(basic.ChangeTime.QuadPart);
  info.sharing = sharing_of(file);
  return info;
}

FileTime file_time_now() {
  FILETIME now{};
  ::GetSystemTimePreciseAsFileTime(&now);
  return convert_time(static_cast<LONGLONG>(std::uint64_t{now.dwHighDateTime} << 32 | now.dwLowDateTime));
}

bool File::close() {
  return !is_open() || ::CloseHandle(reinterpret_cast<HANDLE>(std::exchange(handle_, kNone))) != 0;
}

std::optional<FileInfo> File::info() const {
  return info_of_handle(handle_of(*this));
}

std::int64_t File::read(std::span<std::byte> bytes) const {
  DWORD got = 0;
  const auto size = static_cast<DWORD>(std::min(bytes.size(), kMaxTransfer));
  return read_result(::ReadFile(handle_of(*this), bytes.data(), size, &got, nullptr), got);
}

std::int64_t File::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  OVERLAPPED where = overlapped_at(offset);
  DWORD got = 0;
  const auto size = static_cast<DWORD>(std::min(bytes.size(), kMaxTransfer));
  return read_result(::ReadFile(handle_of(*this), bytes.data(), size, &got, &where), got);
}

bool File::write(std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    DWORD written = 0;
    const auto size = static_cast<DWORD>(std::min(bytes.size(), kMaxTransfer));
    if (::WriteFile(handle_of(*this), bytes.data(), size, &written, nullptr) == 0) return false;
    bytes = bytes.subspan(written);
  }
  return true;
}

bool File::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  LARGE_INTEGER before{};
  if (::SetFilePointerEx(handle_of(*this), {}, &before, FILE_CURRENT) == 0) return false;
  while (!bytes.empty()) {
    OVERLAPPED where = overlapped_at(offset);
    DWORD written = 0;
    const auto size = static_cast<DWORD>(std::min(bytes.size(), kMaxTransfer));
    if (::WriteFile(handle_of(*this), bytes.data(), size, &written, &where) == 0) return false;
    offset += written;
    bytes = bytes.subspan(written);
  }
  // A write at an offset moves the position.
  return ::SetFilePointerEx(handle_of(*this), before, nullptr, FILE_BEGIN) != 0;
}

bool File::extend(std::uint64_t size) const {
  LARGE_INTEGER end{};
  end.QuadPart = static_cast<LONGLONG>(size);
  return ::SetFilePointerEx(handle_of(*this), end, nullptr, FILE_BEGIN) != 0 && ::SetEndOfFile(handle_of(*this)) != 0;
}

bool File::set_permissions(unsigned /*permissions*/) const {
  return true;  // files inherit the permissions of their folder
}

void File::touch() const {
  FILETIME now{};
  ::GetSystemTimePreciseAsFileTime(&now);
  ::SetFileTime(handle_of(*this), nullptr, nullptr, &now);
}

bool File::sync() const {
  return ::FlushFileBuffers(handle_of(*this)) != 0;
}

Lock File::lock() const {
  OVERLAPPED where{};
  where.Offset = kLockOffset;
  where.OffsetHigh = kLockHigh;
  if (::LockFileEx(handle_of(*this), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &where) != 0)
    return Lock::acquired;
  return ::GetLastError() == ERROR_LOCK_VIOLATION ? Lock::busy : Lock::unsupported;
}

File open_to_read(const std::string& path) {
  return open_shared(wide_path(path), GENERIC_READ, OPEN_EXISTING, 0);
}

File open_to_write(const std::string& path) {
  return open_shared(wide_path(path), GENERIC_WRITE, OPEN_EXISTING, 0);
}

File create_file(const std::string& path, unsigned /*permissions*/) {
  return open_shared(wide_path(path), GENERIC_READ | GENERIC_WRITE | DELETE, CREATE_NEW, 0);
}

std::optional<FileInfo> info_of(const std::string& path) {
  const File file =
      open_shared(wide_path(path), FILE_READ_ATTRIBUTES | READ_CONTROL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
  return file.is_open() ? file.info() : std::nullopt;
}

bool can_read(const std::string& path) {
  return open_shared(wide_path(path), GENERIC_READ, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS).is_open();
}

bool can_execute(const std::string& path) {
  const std::wstring name = wide_path(path);
  const DWORD attributes = ::GetFileAttributesW(name.c_str());
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) == 0;
}

bool remove_file(const std::string& path) {
  return ::DeleteFileW(wide_path(path).c_str()) != 0;
}

// A mapped file can be renamed, but neither replaced nor deleted. Virus scanners hold new files open for moments.
bool replace_file(const std::string& from, const std::string& to) {
  constexpr int kTurns = 5;
  constexpr std::chrono::milliseconds kPause{20};
  constexpr DWORD kReplace = MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH;
  const std::wstring source = wide_path(from), target = wide_path(to);
  for (int turn = 0;; ++turn) {
    if (move_name(source, target, kReplace)) return true;
    if (!is_in_use(::GetLastError())) return false;
    const std::wstring replaced = name_of_replaced(target);
    if (!replaced.empty() && move_name(target, replaced, MOVEFILE_WRITE_THROUGH)) {
      if (move_name(source, target, MOVEFILE_WRITE_THROUGH)) {
        ::DeleteFileW(replaced.c_str());  // fails during use
        return true;
      }
      const DWORD error = ::GetLastError();
      move_name(replaced, target, MOVEFILE_WRITE_THROUGH);
      ::SetLastError(error);
    }
    if (turn == kTurns) return false;
    std::this_thread::sleep_for(kPause);
  }
}

bool sync_folder_of(const std::string& /*path*/) {
  return true;  // replace_file() writes names through
}

std::uint64_t largest_file_size() {
  return std::numeric_limits<std::uint64_t>::max();
}

}  // namespace tern::platform
