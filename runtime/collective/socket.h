// A TCP connection with a deadline for every operation.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "platform/socket.h"

namespace tern {

using Deadline = std::chrono::steady_clock::time_point;

class Socket {
 public:
  Socket() = default;
  explicit Socket(platform::Socket socket) : socket_(std::move(socket)) {}
  bool open() const { return socket_.is_open(); }
  /// This socket in a list for platform::poll(), waiting for input; ignored if not open.
  platform::Polled polled() const { return {.handle = socket_.handle(), .wants_input = true}; }

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
  /// Waits for input or output.
  void wait(platform::Polled wishes, Deadline end) const;
  platform::Socket socket_;
};

}  // namespace tern
