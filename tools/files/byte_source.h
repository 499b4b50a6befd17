// Bytes read in order: from a file, from memory, from an entry of an archive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "platform/file.h"

namespace tern {

/// Throws ErrorCode::io: "cannot read NAME: ...", with the text of the last system error.
[[noreturn]] void fail_with_last_error(const char* action, const std::string& name);

/// The size is known from the start: a reader can check sizes in a header before allocating.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Name in errors.
  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }
  std::uint64_t position() const { return position_; }
  std::uint64_t remaining() const { return size_ - position_; }

  /// Fills the span; ErrorCode::bad_file if fewer bytes remain. `content_name` names the content in errors.
  void read(std::span<std::byte> destination, const char* content_name);

 protected:
  ByteSource(std::string name, std::uint64_t size) : name_(std::move(name)), size_(size) {}
  void set_size(std::uint64_t size) { size_ = size; }
  virtual void read_exactly(std::span<std::byte> destination) = 0;

 private:
  std::string name_;
  std::uint64_t size_;
  std::uint64_t position_ = 0;
};

/// A regular file, read without mapping: faster on network disks, and truncation during reading is an error instead of
/// a SIGBUS.
class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::string& path);

 private:
  void read_exactly(std::span<std::byte> destination) override;

  platform::File file_;
};

/// Borrows the bytes.
class MemorySource final : public ByteSource {
 public:
  MemorySource(std::span<const std::byte> bytes, std::string name)
      : ByteSource(std::move(name), bytes.size()), bytes_(bytes) {}

 private:
  void read_exactly(std::span<std::byte> destination) override;

  std::span<const std::byte> bytes_;
};

}  // namespace tern
