#include "runtime/collective/socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <tern/error.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

namespace tern {
namespace {

[[noreturn]] void fail_with(const std::string& what, int error) {
  fail(ErrorCode::io, fmt::format("{}: {}", what, std::strerror(error)));
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const std::string& address, int flags) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size())
    fail(ErrorCode::invalid_argument, fmt::format("'{}' is not an address: write HOST:PORT", address));
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found);
  if (error != 0) fail(ErrorCode::io, fmt::format("cannot resolve the address '{}': {}", address, gai_strerror(error)));
  return {found, freeaddrinfo};
}

Socket make_socket(const addrinfo& a) {
  return Socket(socket(a.ai_family, a.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a.ai_protocol));
}

/// A socket may connect to itself if no process listens at an ephemeral port.
bool is_itself(int descriptor) {
  sockaddr_storage own{}, other{};
  socklen_t own_size = sizeof own, other_size = sizeof other;
  return getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &own_size) == 0 &&
         getpeername(descriptor, reinterpret_cast<sockaddr*>(&other), &other_size) == 0 && own_size == other_size &&
         std::memcmp(&own, &other, own_size) == 0;
}

int milliseconds_until(Deadline end) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::duration_cast<milliseconds>(end - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
}

}  // namespace

Socket::~Socket() {
  if (open()) close(descriptor_);
}

Socket Socket::listen(const std::string& address) {
  const Addresses found = resolve(address, AI_PASSIVE);
  int error = 0;
  for (const addrinfo* a = found.get(); a != nullptr; a = a->ai_next) {
    Socket s = make_socket(*a);
    const int yes = 1;
    constexpr int kWaiting = 128;
    if (s.open() && setsockopt(s.descriptor_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        bind(s.descriptor_, a->ai_addr, a->ai_addrlen) == 0 && ::listen(s.descriptor_, kWaiting) == 0)
      return s;
    error = errno;
  }
  fail_with(fmt::format("listening at '{}'", address), error);
}

Socket Socket::connect(const std::string& address, Deadline end, const std::function<void()>& again) {
  const Addresses found = resolve(address, 0);
  for (int error = ETIMEDOUT;;) {
    for (const addrinfo* a = found.get(); a != nullptr; a = a->ai_next) {
      Socket s = make_socket(*a);
      if (!s.open()) fail_with("making a socket", errno);
      error = ::connect(s.descriptor_, a->ai_addr, a->ai_addrlen) == 0 ? 0 : errno;
      if (error == EINPROGRESS) {
        pollfd p{s.descriptor_, POLLOUT, 0};
        socklen_t size = sizeof error;
        error = ETIMEDOUT;
        if (poll(&p, 1, milliseconds_until(end)) > 0) getsockopt(s.descriptor_, SOL_SOCKET, SO_ERROR, &error, &size);
      }
      if (error == 0 && is_itself(s.descriptor_)) error = ECONNREFUSED;
      if (error != 0) continue;
      const int yes = 1;
      setsockopt(s.descriptor_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      return s;
    }
    constexpr std::chrono::milliseconds kPause{50};
    if (std::chrono::steady_clock::now() + kPause >= end) fail_with(fmt::format("connecting to '{}'", address), error);
    if (again) again();
    std::this_thread::sleep_for(kPause);  // no process listens yet
  }
}

Socket Socket::accept(Deadline end) const {
  for (;;) {
    wait(POLLIN, end);
    Socket s(accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!s.open()) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) fail_with("accepting a connection", errno);
      continue;  // the peer has closed the connection
    }
    const int yes = 1;
    setsockopt(s.descriptor_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return s;
  }
}

std::string Socket::own_address() const {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  char host[NI_MAXHOST] = {}, port[NI_MAXSERV] = {};
  if (getsockname(descriptor_, reinterpret_cast<sockaddr*>(&own), &size) != 0) fail_with("finding an address", errno);
  const int error = getnameinfo(reinterpret_cast<sockaddr*>(&own), size, host, sizeof host, port, sizeof port,
                                NI_NUMERICHOST | NI_NUMERICSERV);
  if (error != 0) fail(ErrorCode::io, fmt::format("finding an address: {}", gai_strerror(error)));
  return own.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

bool Socket::readable(Deadline end) const {
  pollfd p{descriptor_, POLLIN, 0};
  return poll(&p, 1, milliseconds_until(end)) > 0;
}

void Socket::wait(short events, Deadline end) const {
  pollfd p{descriptor_, events, 0};
  int n = 0;
  do {
    n = poll(&p, 1, milliseconds_until(end));
  } while (n < 0 && errno == EINTR);
  if (n < 0) fail_with("waiting", errno);
  if (n == 0) fail(ErrorCode::io, "timed out waiting for data");
}

void Socket::send(std::span<const std::byte> bytes, Deadline end) const {
  while (!bytes.empty()) {
    const ssize_t n = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) fail_with("sending", errno);
    if (n < 0) wait(POLLOUT, end);
    if (n > 0) bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

void Socket::receive(std::span<std::byte> bytes, Deadline end) const {
  while (!bytes.empty()) {
    const ssize_t n = recv(descriptor_, bytes.data(), bytes.size(), 0);
    if (n == 0) fail(ErrorCode::io, "the connection was closed");
    if (n < 0 && errno != EAGAIN && errno != EINTR) fail_with("receiving", errno);
    if (n < 0) wait(POLLIN, end);
    if (n > 0) bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

}  // namespace tern
