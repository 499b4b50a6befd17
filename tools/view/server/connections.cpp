#include "tools/view/server/connections.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>
#include <vector>

namespace tern::view {
namespace {

constexpr std::size_t kPiece = std::size_t{16} << 10;
std::string too_large(const std::string& request) {
  const bool line = request.find('\n') == std::string::npos;
  return std::string("HTTP/1.1 ") + (line ? "414 URI Too Long" : "431 Request Header Fields Too Large") +
         "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
}

bool would_wait() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

struct Connections::Connection {
  enum class State : std::uint8_t { asking, answering, taking, closing, over };
  int socket;
  Clock::time_point deadline;
  State state = State::asking;
  std::string bytes;  ///< the request, then the answer
  std::size_t sent = 0;

  short events() const {
    if (state == State::answering)
      return 0;  // poll() reports a closed client, and sending the answer detects this
                 // anyway
    return state == State::taking ? POLLOUT : POLLIN;
  }
};

struct Connections::Answers {
  const Answer answer;
  std::mutex mutex;
  std::vector<std::pair<int, std::string>> done;  ///< by socket
  int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

  explicit Answers(Answer answer) : answer(std::move(answer)) {}
  ~Answers() { ::close(event); }
  void add(int socket, const std::string& request) {
    std::string bytes = answer(request);
    const std::lock_guard lock(mutex);
    done.emplace_back(socket, std::move(bytes));
    ::eventfd_write(event, 1);
  }
};

Connections::Connections(int listener, Answer answer, Start start, const ConnectionLimits& limits)
    : listener_(listener),
      start_(std::move(start)),
      limits_(limits),
      answers_(std::make_shared<Answers>(std::move(answer))) {
  ::fcntl(listener_, F_SETFL, O_NONBLOCK);
}

Connections::~Connections() {
  for (const Connection& c : open_) ::close(c.socket);
  ::close(listener_);
}

void Connections::turn(std::chrono::milliseconds most) {
  std::vector<pollfd> polled = {{listener_, POLLIN, 0}, {answers_->event, POLLIN, 0}};
  // Stops accepting while answering the maximum of requests; the system queues further connections.
  if (answering_ >= limits_.answers) polled[0].fd = -1;
  for (const Connection& c : open_) polled.push_back({c.events() == 0 ? -1 : c.socket, c.events(), 0});
  ::poll(polled.data(), polled.size(), static_cast<int>(most.count()));
  auto event = polled.begin() + 2;
  for (Connection& c : open_) {
    if ((event++)->revents == 0) continue;
    c.state == Connection::State::taking ? write(c) : read(c);
  }
  take_answers();
  const Clock::time_point now = Clock::now();
  for (auto c = open_.begin(); c != open_.end();) {
    const bool late = c->state != Connection::State::answering && now >= c->deadline;
    if (late || c->state == Connection::State::over) {
      answering_ -= c->state == Connection::State::taking;
      ::close(c->socket);
      c = open_.erase(c);
    } else {
      ++c;
    }
  }
  if (polled[0].revents != 0) accept_all();
}

/// Closes a connection with a sent answer, else the oldest without a complete request. False if all connections are
/// being answered.
bool Connections::end_oldest() {
  auto oldest = std::ranges::find(open_, Connection::State::closing, &Connection::state);
  if (oldest == open_.end()) oldest = std::ranges::find(open_, Connection::State::asking, &Connection::state);
  if (oldest == open_.end()) return false;
  ::close(oldest->socket);
  open_.erase(oldest);
  return true;
}

void Connections::accept_all() {
  // A turn accepts at most the limit of open connections: accepted connections only replace those of earlier turns.
  for (std::size_t n = 0; n < limits_.connections; ++n) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    const bool is_full = socket < 0 && (errno == EMFILE || errno == ENFILE);
    if ((is_full || open_.size() >= limits_.connections) && !end_oldest()) {
      if (socket >= 0) ::close(socket);
      return;
    }
    if (socket < 0) return;
    open_.push_back({socket, Clock::now() + limits_.to_ask});
    read(open_.back());  // a complete request has often arrived already
  }
}

void Connections::read(Connection& c) {
  std::array<char, kPiece> piece;
  const ssize_t n = ::recv(c.socket, piece.data(), piece.size(), 0);
  if (n < 0 && would_wait()) return;
  if (n <= 0) {
    c.state = Connection::State::over;
    return;
  }
  if (c.state != Connection::State::asking) return;  // bytes after a request are dropped
  constexpr std::string_view kEnd = "\r\n\r\n";
  const std::size_t from = c.bytes.size() < kEnd.size() ? 0 : c.bytes.size() - kEnd.size();
  c.bytes.append(piece.data(), static_cast<std::size_t>(n));
  const std::size_t end = c.bytes.find(kEnd, from);
  if (end == std::string::npos && c.bytes.size() < limits_.request_bytes) return;
  ++answering_;
  if (end == std::string::npos || end > limits_.request_bytes) {
    c.bytes = too_large(c.bytes);
    c.state = Connection::State::taking;
    c.deadline = Clock::now() + limits_.to_close;
    return;
  }
  c.bytes.resize(end + kEnd.size());
  c.state = Connection::State::answering;
  start_([answers = answers_, socket = c.socket, request = std::move(c.bytes)] { answers->add(socket, request); });
  c.bytes.clear();
}

void Connections::take_answers() {
  std::vector<std::pair<int, std::string>> done;
  {
    const std::lock_guard lock(answers_->mutex);
    done.swap(answers_->done);
    eventfd_t count = 0;
    ::eventfd_read(answers_->event, &count);
  }
  for (auto& [socket, bytes] : done) {
    const auto c = std::ranges::find(open_, socket, &Connection::socket);
    c->bytes = std::move(bytes);
    c->state = Connection::State::taking;
    c->deadline = Clock::now() + limits_.to_take;
    write(*c);
  }
}

void Connections::write(Connection& c) {
  while (c.sent < c.bytes.size()) {
    const ssize_t n = ::send(c.socket, c.bytes.data() + c.sent, c.bytes.size() - c.sent, MSG_NOSIGNAL);
    if (n < 0 && would_wait()) return;
    if (n <= 0) break;
    c.sent += static_cast<std::size_t>(n);
  }
  // Shuts down first: close() alone would drop the answer if bytes of the client are unread.
  --answering_;
  const bool complete = c.sent == c.bytes.size() && ::shutdown(c.socket, SHUT_WR) == 0;
  c.state = complete ? Connection::State::closing : Connection::State::over;
  c.deadline = Clock::now() + limits_.to_close;
  c.bytes = {};
}

}  // namespace tern::view
