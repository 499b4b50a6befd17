// Destination of an archive's bytes: a file, or memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "loader/atomic_file.h"

namespace tern::writing {

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(std::span<const std::byte> bytes) = 0;
  /// Appends zeros, as a hole if the file system supports holes.
  virtual void write_zeros(std::uint64_t count) = 0;
  virtual void overwrite(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual std::uint64_t size() const = 0;
};

class FileSink : public Sink {
 public:
  explicit FileSink(AtomicFile& file) : file_(file) {}
  void write(std::span<const std::byte> bytes) override { file_.write(bytes); }
  void write_zeros(std::uint64_t count) override { file_.write_zeros(count); }
  void overwrite(std::uint64_t offset, std::span<const std::byte> bytes) override { file_.overwrite(offset, bytes); }
  std::uint64_t size() const override { return file_.size(); }

 private:
  AtomicFile& file_;
};

class MemorySink : public Sink {
 public:
  void write(std::span<const std::byte> bytes) override { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void write_zeros(std::uint64_t count) override { bytes_.resize(bytes_.size() + count); }
  void overwrite(std::uint64_t offset, std::span<const std::byte> bytes) override {
    std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  std::uint64_t size() const override { return bytes_.size(); }
  std::vector<std::byte> release_bytes() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace tern::writing
