#include "tools/http/connections.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "platform/error.h"

namespace tern::http {
namespace {

constexpr std::size_t kPiece = std::size_t{16} << 10;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

/// The bytes from an answer's thread to the loop.
class Connections::Outgoing : public Reply {
 public:
  Outgoing(std::shared_ptr<platform::Wake> wake, std::size_t limit) : wake_(std::move(wake)), limit_(limit) {}

  bool write(std::string_view bytes) override {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [&] { return is_gone_ || unsent_ < limit_; });
    if (is_gone_) return false;
    pending_bytes_ += bytes;
    unsent_ += bytes.size();
    wake_->set();
    return true;
  }
  bool client_is_gone() const override {
    const std::lock_guard lock(mutex_);
    return is_gone_;
  }
  void finish() {
    const std::lock_guard lock(mutex_);
    is_finished_ = true;
    wake_->set();
  }

  // Called by the loop:
  /// Appends new bytes to `bytes`. True if the answer is finished.
  bool drain_into(std::string& bytes) {
    const std::lock_guard lock(mutex_);
    bytes += pending_bytes_;
    pending_bytes_.clear();
    return is_finished_;
  }
  void note_sent(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    unsent_ -= bytes;
    has_room_.notify_one();
  }
  void lose_client() {
    const std::lock_guard lock(mutex_);
    is_gone_ = true;
    pending_bytes_ = {};
    has_room_.notify_one();
  }

 private:
  std::shared_ptr<platform::Wake> wake_;
  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable has_room_;
  std::string pending_bytes_;
  std::size_t unsent_ = 0;
  bool is_finished_ = false, is_gone_ = false;
};

struct Connections::Connection {
  /// lost: the client is gone, and the answer's thread still works.
  enum class State : std::uint8_t { asking, answering, lost, closing, ended };
  platform::Socket socket;
  Clock::time_point deadline;
  std::shared_ptr<RequestReader> request;
  State state = State::asking;
  bool is_finished = false;
  std::string bytes;  ///< bytes of the answer
  std::size_t sent = 0;
  std::shared_ptr<Outgoing> outgoing;

  bool has_unsent() const { return sent < bytes.size(); }
  platform::Polled polled() const {
    const bool is_answering = state == State::answering;
    return {.handle = socket.handle(),
            .wants_input = !is_answering && state != State::lost,
            .wants_output = is_answering && has_unsent(),
            .wants_hang_up = is_answering};
  }
};

Connections::Connections(platform::Socket listener, Answer answer, Start start, const ConnectionLimits& limits)
    : listener_(std::move(listener)),
      answer_(std::move(answer)),
      start_(std::move(start)),
      limits_(limits),
      wake_(std::make_shared<platform::Wake>()) {}

Connections::~Connections() {
  give_up_answers();
}

void Connections::poll_events(std::chrono::milliseconds max_wait) {
  // Stops accepting while answering the maximum of requests; the system queues further connections.
  std::vector<platform::Polled> polled = {{.handle = listener_.handle(), .wants_input = answering_ < limits_.answers},
                                          {.handle = wake_->handle(), .wants_input = true}};
  for (const Connection& c : open_connections_) polled.push_back(c.polled());
  platform::poll(polled, max_wait);
  wake_->clear();
  auto event = polled.begin() + 2;
  for (Connection& c : open_connections_) {
    const platform::Polled& found = *event++;
    if (c.state == Connection::State::answering && found.is_hung_up) {
      lose(c);
    } else if (c.state != Connection::State::answering && found.has_event()) {
      receive(c);
    }
    if (c.state == Connection::State::answering || c.state == Connection::State::lost) take_parts(c);
  }
  const Clock::time_point now = Clock::now();
  for (auto c = open_connections_.begin(); c != open_connections_.end();) {
    if (c->state == Connection::State::answering && now >= c->deadline && c->has_unsent()) lose(*c);
    const bool waits = c->state != Connection::State::answering && c->state != Connection::State::lost;
    if (c->state == Connection::State::ended || (waits && now >= c->deadline)) {
      c = open_connections_.erase(c);
    } else {
      ++c;
    }
  }
  if (polled[0].has_event()) accept_all();
}

void Connections::stop_accepting() {
  listener_.close();
  open_connections_.remove_if([](const Connection& c) { return c.state == Connection::State::asking; });
}

void Connections::give_up_answers() {
  for (Connection& c : open_connections_) {
    if (c.outgoing) c.outgoing->lose_client();
  }
}

/// Closes a connection with a sent answer, else the oldest without a complete request. False if all connections are
/// being answered.
bool Connections::end_oldest() {
  auto oldest = std::ranges::find(open_connections_, Connection::State::closing, &Connection::state);
  if (oldest == open_connections_.end())
    oldest = std::ranges::find(open_connections_, Connection::State::asking, &Connection::state);
  if (oldest == open_connections_.end()) return false;
  open_connections_.erase(oldest);
  return true;
}

void Connections::accept_all() {
  // A turn accepts at most the limit of open connections: accepted connections only replace those of earlier turns.
  for (std::size_t n = 0; n < limits_.connections && answering_ < limits_.answers; ++n) {
    platform::Socket socket = listener_.accept();
    const bool is_full = !socket.is_open() && platform::is_open_limit(platform::last_error());
    if ((is_full || open_connections_.size() >= limits_.connections) && !end_oldest()) return;
    if (!socket.is_open()) return;
    open_connections_.push_back(
        {std::move(socket), Clock::now() + limits_.to_ask, std::make_shared<RequestReader>(limits_.request)});
    receive(open_connections_.back());  // a complete request has often arrived already
  }
}

void Connections::receive(Connection& c) {
  std::array<char, kPiece> buffer;
  const std::int64_t n = c.socket.receive(std::as_writable_bytes(std::span(buffer)));
  if (n < 0 && platform::is_waiting(platform::last_error())) return;
  if (n <= 0) {
    c.state = Connection::State::ended;
    return;
  }
  if (c.state != Connection::State::asking) return;  // bytes after a request are dropped
  const RequestReader::State state = c.request->add({buffer.data(), static_cast<std::size_t>(n)});
  if (c.request->take_continue()) c.socket.send(std::as_bytes(std::span(kContinue)));
  if (state == RequestReader::State::reading) return;
  c.state = Connection::State::answering;
  ++answering_;
  if (state == RequestReader::State::complete) return begin_answer(c);
  c.bytes = "HTTP/1.1 " + std::string(c.request->refusal()) + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  c.is_finished = true;
  c.deadline = Clock::now() + limits_.to_close;
  send(c);
}

void Connections::begin_answer(Connection& c) {
  c.outgoing = std::make_shared<Outgoing>(wake_, limits_.unsent_bytes);
  c.deadline = Clock::now() + limits_.to_take;
  start_([answer = answer_, outgoing = c.outgoing, request = std::move(c.request)] {
    try {
      answer(*request, *outgoing);
    } catch (...) {
      outgoing->lose_client();  // an answer without its end must not look complete
    }
    outgoing->finish();
  });
}

void Connections::take_parts(Connection& c) {
  if (c.outgoing && !c.is_finished) {
    if (c.outgoing->client_is_gone()) c.state = Connection::State::lost;
    const bool was_waiting = c.has_unsent();
    c.is_finished = c.outgoing->drain_into(c.bytes);
    if (c.is_finished || (!was_waiting && c.has_unsent())) c.deadline = Clock::now() + limits_.to_take;
  }
  if (c.state == Connection::State::lost) {
    c.bytes.clear();
    if (!c.is_finished) return;
    --answering_;
    c.state = Connection::State::ended;
    return;
  }
  if (c.has_unsent() || c.is_finished) send(c);
}

void Connections::send(Connection& c) {
  while (c.has_unsent()) {
    const std::int64_t n = c.socket.send(std::as_bytes(std::span(c.bytes).subspan(c.sent)));
    if (n < 0 && platform::is_waiting(platform::last_error())) return;
    if (n <= 0) return lose(c);
    c.sent += static_cast<std::size_t>(n);
    if (!c.outgoing) continue;
    c.outgoing->note_sent(static_cast<std::size_t>(n));
    if (!c.is_finished) c.deadline = Clock::now() + limits_.to_take;
  }
  c.bytes.clear();
  c.sent = 0;
  if (!c.is_finished) return;
  // Shuts down first: close() alone would drop the answer if bytes of the client are unread.
  --answering_;
  c.state = c.socket.end_sending() ? Connection::State::closing : Connection::State::ended;
  c.deadline = Clock::now() + limits_.to_close;
}

/// Gives up the client of an answer. The connection stays until the answer's thread ends.
void Connections::lose(Connection& c) {
  if (c.outgoing) c.outgoing->lose_client();
  c.bytes.clear();
  c.sent = 0;
  c.state = Connection::State::lost;
  if (!c.is_finished && c.outgoing) return;
  --answering_;
  c.state = Connection::State::ended;
}

}  // namespace tern::http
