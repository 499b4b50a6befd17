#include "platform/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "platform/posix/socket_system.h"

namespace tern::platform {
namespace {

int socket_of(Socket::Handle handle) {
  return static_cast<int>(handle);
}

const sockaddr* system_address(const Address& address) {
  return reinterpret_cast<const sockaddr*>(address.bytes.data());
}

/// Asks getsockname or getpeername.
template <typename Call>
std::optional<Address> ask_address(Socket::Handle handle, const Call& call) {
  Address address;
  static_assert(sizeof address.bytes >= sizeof(sockaddr_storage));
  auto size = static_cast<socklen_t>(address.bytes.size());
  if (call(socket_of(handle), reinterpret_cast<sockaddr*>(address.bytes.data()), &size) != 0) return {};
  address.size = size;
  address.family = system_address(address)->sa_family;
  return address;
}

Socket closed_with_error(Socket socket) {
  const int error = errno;
  socket.close();
  errno = error;
  return socket;
}

}  // namespace

bool Address::operator==(const Address& other) const {
  return size == other.size && std::memcmp(bytes.data(), other.bytes.data(), size) == 0;
}

int Address::port() const {
  if (family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(bytes.data())->sin6_port);
  return family == AF_INET ? ntohs(reinterpret_cast<const sockaddr_in*>(bytes.data())->sin_port) : 0;
}

std::string Address::text() const {
  char host[NI_MAXHOST] = {}, number[NI_MAXSERV] = {};
  if (::getnameinfo(system_address(*this), size, host, sizeof host, number, sizeof number,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return {};
  const std::string name = family == AF_INET6 ? "[" + std::string(host) + "]" : std::string(host);
  return name + ":" + number;
}

std::vector<Address> resolve(const std::string& host, const std::string& port, Resolve purpose, std::string* problem) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = (purpose == Resolve::connect ? 0 : AI_PASSIVE) |
                   (purpose == Resolve::listen_numeric ? AI_NUMERICHOST | AI_NUMERICSERV : 0);
  addrinfo* found = nullptr;
  std::vector<Address> addresses;
  if (const int error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0) {
    *problem = ::gai_strerror(error);
    return addresses;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    Address& address = addresses.emplace_back();
    address.size = std::min<unsigned>(a->ai_addrlen, static_cast<unsigned>(address.bytes.size()));
    address.family = a->ai_family;
    std::memcpy(address.bytes.data(), a->ai_addr, address.size);
  }
  return addresses;
}

void Socket::close() {
  if (is_open()) ::close(socket_of(std::exchange(handle_, kNone)));
}

Socket Socket::listen(const Address& address, int waiting) {
  Socket s(create_socket(address.family, SOCK_STREAM, 0));
  const int yes = 1;
  // Omits SO_REUSEPORT: two servers could share a port.
  if (s.is_open() && ::setsockopt(socket_of(s.handle_), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
      ::bind(socket_of(s.handle_), system_address(address), address.size) == 0 &&
      ::listen(socket_of(s.handle_), waiting) == 0)
    return s;
  return closed_with_error(std::move(s));
}

Socket Socket::connect(const Address& address) {
  Socket s(create_socket(address.family, SOCK_STREAM, 0));
  if (!s.is_open() || ::connect(socket_of(s.handle_), system_address(address), address.size) == 0 ||
      errno == EINPROGRESS)
    return s;
  return closed_with_error(std::move(s));
}

Socket Socket::accept() const {
  return Socket(accept_socket(socket_of(handle_)));
}

int Socket::connection_error() const {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket_of(handle_), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

std::optional<Address> Socket::own_address() const {
  return ask_address(handle_, ::getsockname);
}

std::optional<Address> Socket::peer_address() const {
  return ask_address(handle_, ::getpeername);
}

std::int64_t Socket::send(std::span<const std::byte> bytes) const {
  return ::send(socket_of(handle_), bytes.data(), bytes.size(), kSendFlags);
}

std::int64_t Socket::receive(std::span<std::byte> bytes) const {
  return ::recv(socket_of(handle_), bytes.data(), bytes.size(), 0);
}

bool Socket::end_sending() const {
  return ::shutdown(socket_of(handle_), SHUT_WR) == 0;
}

void Socket::send_at_once() const {
  const int yes = 1;
  ::setsockopt(socket_of(handle_), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

bool is_waiting(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

bool is_open_limit(int error) {
  return error == EMFILE || error == ENFILE;
}

bool is_out_of_memory(int error) {
  return error == ENOMEM;
}

int timed_out_error() {
  return ETIMEDOUT;
}

int refused_error() {
  return ECONNREFUSED;
}

int poll(std::span<Polled> polled, std::chrono::milliseconds limit) {
  std::vector<pollfd> system;
  for (const Polled& p : polled) {
    const auto events = static_cast<short>((p.wants_input ? POLLIN : 0) | (p.wants_output ? POLLOUT : 0) |
                                           (p.wants_hang_up ? kPollHangUp : 0));
    system.push_back({events == 0 ? -1 : socket_of(p.handle), events, 0});
  }
  const int count = ::poll(system.data(), static_cast<nfds_t>(system.size()), static_cast<int>(limit.count()));
  for (std::size_t i = 0; i < polled.size(); ++i) {
    const short found = count > 0 ? system[i].revents : short{0};
    polled[i].has_input = (found & POLLIN) != 0;
    polled[i].has_output = (found & POLLOUT) != 0;
    polled[i].is_hung_up = (found & (POLLHUP | POLLERR | POLLNVAL | kPollHangUp)) != 0;
  }
  return count;
}

}  // namespace tern::platform
