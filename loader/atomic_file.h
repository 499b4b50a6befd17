// A file that appears under its name only when it is complete: written beside it, then renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tern {

/// Writes to NAME.tmp.PID in the folder of NAME. commit() renames it to NAME; destruction without commit() removes it.
/// A NAME that is a link is followed; one that is a device or a pipe (/dev/stdout) is written to directly.
/// Belongs to one thread. Every failure is an Error of code io that names the path and the system's reason.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Appends zeros. In a regular file they become a hole where the file system can.
  void write_zeros(std::uint64_t count);
  /// Replaces bytes that were written before; for a header that is known last. Not for devices and pipes.
  void overwrite(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Bytes appended so far: the offset at which the next write lands.
  std::uint64_t size() const { return size_; }
  /// Where the bytes are before commit().
  const std::string& temporary_path() const { return temporary_; }

  void commit();
  /// Returns once the file and its name are on the disk, so that they outlive a loss of power.
  void commit_durably();

 private:
  void put(std::span<const std::byte> bytes);
  void flush();
  void fill_hole();
  void sync_folder() const;
  [[noreturn]] void fail_with_errno(const char* what, const std::string& path) const;

  std::string path_;
  std::string temporary_;  ///< empty when writing directly, and after commit()
  int fd_ = -1;
  std::uint64_t size_ = 0;
  std::uint64_t hole_ = 0;            ///< zeros at the end that are not in the file yet
  std::vector<std::byte> unwritten_;  ///< before them, of the last piece
};

}  // namespace tern
