// TCP sockets that never block, and waiting for several of them.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tern::platform {

/// Address of a host and port, in the system's form.
struct Address {
  alignas(8) std::array<std::byte, 128> bytes{};
  unsigned size = 0;
  int family = 0;

  bool operator==(const Address& other) const;
  int port() const;
  /// Numeric "HOST:PORT" or "[HOST]:PORT"; empty if unknown.
  std::string text() const;
};

enum class Resolve { connect, listen, listen_numeric };  ///< `listen_numeric`: the host is a number already

/// Addresses of a host and port. Empty after a failure; `problem` receives the reason.
std::vector<Address> resolve(const std::string& host, const std::string& port, Resolve purpose, std::string* problem);

/// An open socket, closed by its destructor. Started programs do not inherit it. Failures set last_error().
class Socket {
 public:
  using Handle = std::intptr_t;  ///< a descriptor, or a SOCKET of Windows
  static constexpr Handle kNone = -1;

  Socket() = default;
  explicit Socket(Handle handle) : handle_(handle) {}
  ~Socket() { close(); }
  Socket(Socket&& other) noexcept : handle_(std::exchange(other.handle_, kNone)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  bool is_open() const { return handle_ != kNone; }
  Handle handle() const { return handle_; }
  void close();
  /// Transfers ownership to the caller.
  Handle release() { return std::exchange(handle_, kNone); }

  /// Listens at an address. `waiting`: connections that the system keeps until they are accepted.
  static Socket listen(const Address& address, int waiting);
  /// Starts a connection. The socket is writable once connection_error() is known; is_open() is false after a failure.
  static Socket connect(const Address& address);
  /// Returns the next connection of a listening socket, if one waits.
  Socket accept() const;
  /// Error number of the started connection; 0 if connected.
  int connection_error() const;

  std::optional<Address> own_address() const;
  std::optional<Address> peer_address() const;

  /// Send or receive some bytes. Return their number, 0 at the end of the stream, -1 after a failure: is_waiting() if
  /// no byte can be sent or has arrived. A closed connection raises no signal.
  std::int64_t send(std::span<const std::byte> bytes) const;
  std::int64_t receive(std::span<std::byte> bytes) const;
  /// Ends the stream to the peer.
  bool end_sending() const;
  /// Sends small messages at once.
  void send_at_once() const;

 private:
  Handle handle_ = kNone;
};

bool is_waiting(int error);        ///< the call would have to wait, or a signal interrupted it
bool is_open_limit(int error);     ///< too many files and sockets are open
bool is_out_of_memory(int error);  ///< the system has no memory for the socket
int timed_out_error();             ///< the system's error number of an exceeded time
int refused_error();               ///< the system's error number of a refused connection

/// A socket, or Wake, to wait for, and the events found. Without a wish, a socket is ignored.
struct Polled {
  Socket::Handle handle = Socket::kNone;  ///< kNone: ignored
  bool wants_input = false, wants_output = false;
  bool wants_hang_up = false;  ///< the peer has ended its stream; Windows finds only closed connections

  bool has_input = false, has_output = false, is_hung_up = false;
  bool has_event() const { return has_input || has_output || is_hung_up; }
};

/// Waits until a socket has an event, at most `limit`. Returns the number of sockets with events, 0 after the limit, -1
/// after a failure or an interruption by a signal.
int poll(std::span<Polled> polled, std::chrono::milliseconds limit);

/// Ends a poll() on another thread. Not open after a failure.
class Wake {
 public:
  Wake();
  ~Wake();
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;

  bool is_open() const { return handle_ != Socket::kNone; }
  Socket::Handle handle() const { return handle_; }
  void set() const;
  void clear() const;

 private:
  Socket::Handle handle_ = Socket::kNone, writer_ = Socket::kNone;
};

}  // namespace tern::platform
