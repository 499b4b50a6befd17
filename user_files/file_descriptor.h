// A file descriptor closed by its destructor.
#pragma once

#include <unistd.h>

#include <utility>

namespace tern {

class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  ~FileDescriptor() {
    if (number_ >= 0) ::close(number_);
  }
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }
  /// Transfers ownership to the caller.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

}  // namespace tern
