// A file visible under its name only when complete: written under a temporary name, then renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/file.h"

namespace tern {

/// Writes to NAME.tmp.PID in the folder of NAME. commit() renames the file to NAME; destruction without commit()
/// removes the file. Follows links; writes directly to devices and pipes (/dev/stdout). Used by a single thread. Every
/// failure is an io Error naming the path and the system's reason.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Appends zeros. Regular files get a hole if the file system supports holes.
  void write_zeros(std::uint64_t count);
  /// Replaces bytes written before, for a header known last. Not for devices and pipes.
  void overwrite(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Bytes appended so far: the offset of the next write.
  std::uint64_t size() const { return size_; }
  /// Path of the bytes before commit().
  const std::string& temporary_path() const { return temporary_; }

  void commit();
  /// Commits and waits until the file and its name are on disk, safe from a power failure.
  void commit_durably();

 private:
  void write_bytes(std::span<const std::byte> bytes);
  void flush();
  void fill_hole();

  std::string path_;
  std::string temporary_;  ///< empty when writing directly, and after commit()
  platform::File file_;
  std::uint64_t size_ = 0;
  std::uint64_t hole_ = 0;            ///< trailing zeros not in the file yet
  std::vector<std::byte> unwritten_;  ///< bytes of the last piece, before the zeros
};

}  // namespace tern
