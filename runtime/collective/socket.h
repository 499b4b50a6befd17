// A TCP connection with a deadline for every operation.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>

namespace tern {

using Deadline = std::chrono::steady_clock::time_point;

class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  bool open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  /// Addresses are "HOST:PORT" or "[::1]:PORT". All functions fail with ErrorCode::io and name the unreachable address.
  static Socket listen(const std::string& address);
  /// Retries until a process listens at the address or `again` throws.
  static Socket connect(const std::string& address, Deadline end, const std::function<void()>& again = {});
  Socket accept(Deadline end) const;
  /// True if data or the end of the stream arrives before the deadline.
  bool readable(Deadline end) const;
  /// Numeric "HOST:PORT" of this end.
  std::string own_address() const;

  void send(std::span<const std::byte> bytes, Deadline end) const;
  void receive(std::span<std::byte> bytes, Deadline end) const;

 private:
  void wait(short events, Deadline end) const;
  int descriptor_ = -1;
};

}  // namespace tern
