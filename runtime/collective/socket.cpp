#include "runtime/collective/socket.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <thread>

#include "platform/error.h"

namespace tern {
namespace {

[[noreturn]] void fail_with(const std::string& what, int error) {
  fail(ErrorCode::io, fmt::format("{}: {}", what, platform::error_text(error)));
}

std::vector<platform::Address> resolve(const std::string& address, platform::Resolve purpose) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size())
    fail(ErrorCode::invalid_argument, fmt::format("'{}' is not an address: write HOST:PORT", address));
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  std::string problem;
  auto found = platform::resolve(host, address.substr(colon + 1), purpose, &problem);
  if (found.empty()) fail(ErrorCode::io, fmt::format("cannot resolve the address '{}': {}", address, problem));
  return found;
}

/// A socket may connect to itself if no process listens at an ephemeral port.
bool is_itself(const platform::Socket& s) {
  const auto own = s.own_address(), peer = s.peer_address();
  return own && peer && *own == *peer;
}

std::chrono::milliseconds time_until(Deadline end) {
  using std::chrono::milliseconds;
  constexpr milliseconds kLongest{1 << 30};
  const auto remaining = std::chrono::duration_cast<milliseconds>(end - std::chrono::steady_clock::now());
  return std::clamp(remaining, milliseconds(0), kLongest);
}

/// Waits for a started connection. Returns its error number.
int finish_connecting(const platform::Socket& s, Deadline end) {
  platform::Polled polled{.handle = s.handle(), .wants_output = true};
  if (platform::poll({&polled, 1}, time_until(end)) <= 0) return platform::timed_out_error();
  const int error = s.connection_error();
  return error == 0 && is_itself(s) ? platform::refused_error() : error;
}

}  // namespace

Socket Socket::listen(const std::string& address) {
  int error = 0;
  for (const platform::Address& a : resolve(address, platform::Resolve::listen)) {
    constexpr int kWaiting = 128;
    Socket s(platform::Socket::listen(a, kWaiting));
    if (s.open()) return s;
    error = platform::last_error();
  }
  fail_with(fmt::format("listening at '{}'", address), error);
}

Socket Socket::connect(const std::string& address, Deadline end, const std::function<void()>& again) {
  const auto found = resolve(address, platform::Resolve::connect);
  for (int error = platform::timed_out_error();;) {
    for (const platform::Address& a : found) {
      platform::Socket s = platform::Socket::connect(a);
      error = s.is_open() ? finish_connecting(s, end) : platform::last_error();
      if (!s.is_open() && (platform::is_open_limit(error) || platform::is_out_of_memory(error)))
        fail_with("making a socket", error);
      if (error != 0) continue;
      s.send_at_once();
      return Socket(std::move(s));
    }
    constexpr std::chrono::milliseconds kPause{50};
    if (std::chrono::steady_clock::now() + kPause >= end) fail_with(fmt::format("connecting to '{}'", address), error);
    if (again) again();
    std::this_thread::sleep_for(kPause);  // no process listens yet
  }
}

Socket Socket::accept(Deadline end) const {
  for (;;) {
    wait({.wants_input = true}, end);
    platform::Socket s = socket_.accept();
    if (!s.is_open()) {
      const int error = platform::last_error();
      if (platform::is_open_limit(error) || platform::is_out_of_memory(error))
        fail_with("accepting a connection", error);
      continue;  // the peer has closed the connection
    }
    s.send_at_once();
    return Socket(std::move(s));
  }
}

std::string Socket::own_address() const {
  const auto own = socket_.own_address();
  if (!own) fail_with("finding an address", platform::last_error());
  std::string text = own->text();
  if (text.empty()) fail(ErrorCode::io, "finding an address: the system cannot write it as text");
  return text;
}

bool Socket::readable(Deadline end) const {
  platform::Polled p = polled();
  return platform::poll({&p, 1}, time_until(end)) > 0;
}

void Socket::wait(platform::Polled wishes, Deadline end) const {
  wishes.handle = socket_.handle();
  int n = 0;
  do {
    n = platform::poll({&wishes, 1}, time_until(end));
  } while (n < 0 && platform::is_waiting(platform::last_error()));
  if (n < 0) fail_with("waiting", platform::last_error());
  if (n == 0) fail(ErrorCode::io, "timed out waiting for data");
}

void Socket::send(std::span<const std::byte> bytes, Deadline end) const {
  while (!bytes.empty()) {
    const std::int64_t n = socket_.send(bytes);
    if (n < 0 && !platform::is_waiting(platform::last_error())) fail_with("sending", platform::last_error());
    if (n < 0) wait({.wants_output = true}, end);
    if (n > 0) bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

void Socket::receive(std::span<std::byte> bytes, Deadline end) const {
  while (!bytes.empty()) {
    const std::int64_t n = socket_.receive(bytes);
    if (n == 0) fail(ErrorCode::io, "the connection was closed");
    if (n < 0 && !platform::is_waiting(platform::last_error())) fail_with("receiving", platform::last_error());
    if (n < 0) wait({.wants_input = true}, end);
    if (n > 0) bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

}  // namespace tern
