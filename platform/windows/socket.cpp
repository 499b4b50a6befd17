#include "platform/socket.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "platform/error.h"
#include "platform/windows/system.h"

namespace tern::platform {
namespace {

/// Starts the socket library of the process once.
void start_sockets() {
  static const int started = [] {
    WSADATA data{};
    return ::WSAStartup(MAKEWORD(2, 2), &data);
  }();
  static_cast<void>(started);
}

SOCKET socket_of(Socket::Handle handle) {
  return static_cast<SOCKET>(handle);
}

Socket prepared(SOCKET s) {
  Socket socket(static_cast<Socket::Handle>(s));
  if (!socket.is_open()) return socket;
  u_long yes = 1;
  ::ioctlsocket(s, FIONBIO, &yes);
  ::SetHandleInformation(reinterpret_cast<HANDLE>(s), HANDLE_FLAG_INHERIT, 0);
  return socket;
}

Socket create(int family) {
  start_sockets();
  return prepared(::WSASocketW(family, SOCK_STREAM, IPPROTO_TCP, nullptr, 0, WSA_FLAG_OVERLAPPED));
}

const sockaddr* system_address(const Address& address) {
  return reinterpret_cast<const sockaddr*>(address.bytes.data());
}

template <typename Call>
std::optional<Address> ask_address(Socket::Handle handle, const Call& call) {
  Address address;
  static_assert(sizeof address.bytes >= sizeof(sockaddr_storage));
  auto size = static_cast<int>(address.bytes.size());
  if (call(socket_of(handle), reinterpret_cast<sockaddr*>(address.bytes.data()), &size) != 0) return {};
  address.size = static_cast<unsigned>(size);
  address.family = system_address(address)->sa_family;
  return address;
}

Socket closed_with_error(Socket socket) {
  const int error = ::WSAGetLastError();
  socket.close();
  ::WSASetLastError(error);
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
  start_sockets();
  char host[NI_MAXHOST] = {}, number[NI_MAXSERV] = {};
  if (::getnameinfo(system_address(*this), static_cast<socklen_t>(size), host, sizeof host, number, sizeof number,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return {};
  const std::string name = family == AF_INET6 ? "[" + std::string(host) + "]" : std::string(host);
  return name + ":" + number;
}

std::vector<Address> resolve(const std::string& host, const std::string& port, Resolve purpose, std::string* problem) {
  start_sockets();
  ADDRINFOW hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = (purpose == Resolve::connect ? 0 : AI_PASSIVE) |
                   (purpose == Resolve::listen_numeric ? AI_NUMERICHOST | AI_NUMERICSERV : 0);
  ADDRINFOW* found = nullptr;
  std::vector<Address> addresses;
  if (const int error = ::GetAddrInfoW(wide(host).c_str(), wide(port).c_str(), &hints, &found); error != 0) {
    *problem = error_text(error);
    return addresses;
  }
  const std::unique_ptr<ADDRINFOW, decltype(&::FreeAddrInfoW)> owner(found, ::FreeAddrInfoW);
  for (const ADDRINFOW* a = found; a != nullptr; a = a->ai_next) {
    Address& address = addresses.emplace_back();
    address.size = static_cast<unsigned>(std::min(a->ai_addrlen, address.bytes.size()));
    address.family = a->ai_family;
    std::memcpy(address.bytes.data(), a->ai_addr, address.size);
  }
  return addresses;
}

void Socket::close() {
  if (is_open()) ::closesocket(socket_of(std::exchange(handle_, kNone)));
}

Socket Socket::listen(const Address& address, int waiting) {
  Socket s = create(address.family);
  const BOOL yes = TRUE;
  // SO_REUSEADDR of Windows would let two servers share a port.
  if (s.is_open() &&
      ::setsockopt(socket_of(s.handle_), SOL_SOCKET, SO_EXCLUSIVEADDRUSE, reinterpret_cast<const char*>(&yes),
                   sizeof yes) == 0 &&
      ::bind(socket_of(s.handle_), system_address(address), static_cast<int>(address.size)) == 0 &&
      ::listen(socket_of(s.handle_), waiting) == 0)
    return s;
  return closed_with_error(std::move(s));
}

Socket Socket::connect(const Address& address) {
  Socket s = create(address.family);
  if (!s.is_open() || ::connect(socket_of(s.handle_), system_address(address), static_cast<int>(address.size)) == 0 ||
      ::WSAGetLastError() == WSAEWOULDBLOCK)
    return s;
  return closed_with_error(std::move(s));
}

Socket Socket::accept() const {
  return prepared(::accept(socket_of(handle_), nullptr, nullptr));
}

int Socket::connection_error() const {
  int error = 0, size = sizeof error;
  return ::getsockopt(socket_of(handle_), SOL_SOCKET, SO_ERROR, reinterpret_cast<char*>(&error), &size) == 0
             ? error
             : ::WSAGetLastError();
}

std::optional<Address> Socket::own_address() const {
  return ask_address(handle_, ::getsockname);
}

std::optional<Address> Socket::peer_address() const {
  return ask_address(handle_, ::getpeername);
}

std::int64_t Socket::send(std::span<const std::byte> bytes) const {
  const auto size = static_cast<int>(std::min<std::size_t>(bytes.size(), 1 << 30));
  return ::send(socket_of(handle_), reinterpret_cast<const char*>(bytes.data()), size, 0);
}

std::int64_t Socket::receive(std::span<std::byte> bytes) const {
  const auto size = static_cast<int>(std::min<std::size_t>(bytes.size(), 1 << 30));
  return ::recv(socket_of(handle_), reinterpret_cast<char*>(bytes.data()), size, 0);
}

bool Socket::end_sending() const {
  return ::shutdown(socket_of(handle_), SD_SEND) == 0;
}

void Socket::send_at_once() const {
  const BOOL yes = TRUE;
  ::setsockopt(socket_of(handle_), IPPROTO_TCP, TCP_NODELAY, reinterpret_cast<const char*>(&yes), sizeof yes);
}

bool is_waiting(int error) {
  return error == WSAEWOULDBLOCK || error == WSAEINTR;
}

bool is_open_limit(int error) {
  return error == WSAEMFILE;
}

bool is_out_of_memory(int error) {
  return error == WSAENOBUFS;
}

int timed_out_error() {
  return WSAETIMEDOUT;
}

int refused_error() {
  return WSAECONNREFUSED;
}

int poll(std::span<Polled> polled, std::chrono::milliseconds limit) {
  std::vector<WSAPOLLFD> system;
  std::vector<std::size_t> places;  // WSAPoll fails for a list with ignored sockets alone
  for (std::size_t i = 0; i < polled.size(); ++i) {
    Polled& p = polled[i];
    p.has_input = p.has_output = p.is_hung_up = false;
    if (p.handle == Socket::kNone || (!p.wants_input && !p.wants_output && !p.wants_hang_up)) continue;
    const auto events = static_cast<SHORT>((p.wants_input ? POLLRDNORM : 0) | (p.wants_output ? POLLWRNORM : 0));
    system.push_back({socket_of(p.handle), events, 0});
    places.push_back(i);
  }
  if (system.empty()) {
    ::Sleep(static_cast<DWORD>(limit.count()));
    return 0;
  }
  const int count = ::WSAPoll(system.data(), static_cast<ULONG>(system.size()), static_cast<INT>(limit.count()));
  for (std::size_t i = 0; count > 0 && i < system.size(); ++i) {
    Polled& p = polled[places[i]];
    p.has_input = (system[i].revents & POLLRDNORM) != 0;
    p.has_output = (system[i].revents & POLLWRNORM) != 0;
    p.is_hung_up = (system[i].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
  }
  return count;
}

// A pair of connected sockets: WSAPoll waits for sockets only.
Wake::Wake() {
  std::string problem;
  const auto addresses = resolve("127.0.0.1", "0", Resolve::listen_numeric, &problem);
  if (addresses.empty()) return;
  const Socket listener = Socket::listen(addresses[0], 1);
  const auto address = listener.is_open() ? listener.own_address() : std::nullopt;
  if (!address) return;
  Socket writer = Socket::connect(*address);
  Polled waiting{.handle = listener.handle(), .wants_input = true};
  constexpr std::chrono::milliseconds kLimit{5000};
  if (!writer.is_open() || poll({&waiting, 1}, kLimit) != 1) return;
  Socket reader = listener.accept();
  const auto peer = reader.is_open() ? reader.peer_address() : std::nullopt;
  if (!peer || !(peer == writer.own_address())) return;  // another process has connected
  writer.send_at_once();
  handle_ = reader.release();
  writer_ = writer.release();
}

Wake::~Wake() {
  Socket(handle_).close();
  Socket(writer_).close();
}

void Wake::set() const {
  const char byte = 0;
  ::send(socket_of(writer_), &byte, 1, 0);
}

void Wake::clear() const {
  char bytes[64];
  while (::recv(socket_of(handle_), bytes, sizeof bytes, 0) > 0) {
  }
}

}  // namespace tern::platform
