// Files: opened, created, read, written, replaced. Paths are UTF-8; bytes are never translated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace tern::platform {

struct FileTime {
  std::int64_t seconds = 0;  ///< since 1970, UTC
  std::int64_t nanoseconds = 0;
};

/// Current time on the clock of file times.
FileTime file_time_now();

struct FileInfo {
  enum class Kind { regular, folder, link, special };

  Kind kind = Kind::special;
  std::uint64_t size = 0;
  std::uint64_t volume = 0, number = 0;  ///< the same for all names of a file, different for other existing files
  FileTime modified, changed;            ///< `changed`: also names and permissions
  unsigned permissions = 0;              ///< nine bits of POSIX; 0 on Windows
  std::string sharing;                   ///< reason why other users can change the file; empty if they cannot

  bool is_regular() const { return kind == Kind::regular; }
  /// True for a regular file that only this process's user can change.
  bool is_own_file() const { return is_regular() && sharing.empty(); }
};

enum class Lock { acquired, busy, unsupported };  ///< `busy`: locked by another opened file

/// An open file, closed by its destructor. Failures set last_error().
class File {
 public:
  using Handle = std::intptr_t;  ///< a descriptor, or a HANDLE of Windows
  static constexpr Handle kNone = -1;

  File() = default;
  explicit File(Handle handle) : handle_(handle) {}
  ~File() { close(); }
  File(File&& other) noexcept : handle_(std::exchange(other.handle_, kNone)) {}
  File& operator=(File&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  bool is_open() const { return handle_ != kNone; }
  Handle handle() const { return handle_; }
  /// Returns false if the system reports lost data (network file systems).
  bool close();

  std::optional<FileInfo> info() const;
  /// Reads some bytes at the position. Returns their number, 0 at the end, -1 after a failure.
  std::int64_t read(std::span<std::byte> bytes) const;
  std::int64_t read_at(std::uint64_t offset, std::span<std::byte> bytes) const;
  /// Write all bytes, or return false.
  bool write(std::span<const std::byte> bytes) const;
  bool write_at(std::uint64_t offset, std::span<const std::byte> bytes) const;
  /// Enlarges the file with zeros, as a hole if the file system supports holes, and moves the position to the new end.
  bool extend(std::uint64_t size) const;
  bool set_permissions(unsigned permissions) const;
  /// Sets the modification time to now.
  void touch() const;
  /// Waits until the bytes are on disk.
  bool sync() const;
  /// Takes the exclusive lock of the file if it is free. Closing the file releases the lock. Other processes may read
  /// and write a locked file.
  Lock lock() const;

 private:
  Handle handle_ = kNone;
};

/// Opens an existing file for reading. Never waits for the writer of a pipe.
File open_to_read(const std::string& path);
/// Opens an existing file, device or pipe for writing at its beginning.
File open_to_write(const std::string& path);
/// Creates a file for writing; fails if the name exists.
File create_file(const std::string& path, unsigned permissions = 0666);

/// Facts about a file or folder; follows links. Empty if there is none.
std::optional<FileInfo> info_of(const std::string& path);
bool can_read(const std::string& path);
bool can_execute(const std::string& path);
bool remove_file(const std::string& path);
/// Gives the file `from` the name `to` and replaces any file of that name. Processes that have the replaced file open
/// or mapped keep its bytes. Windows: moves a replaced file in use to TO.replaced.N first, which later calls remove.
bool replace_file(const std::string& from, const std::string& to);
/// Waits until the names in a file's folder are on disk. Succeeds on file systems without this service.
bool sync_folder_of(const std::string& path);
/// Writing larger files ends the process or fails.
std::uint64_t largest_file_size();

}  // namespace tern::platform
