// The connections of the server: a single loop reads requests within limits, and only complete requests get a thread.
// Clients without the token cannot take memory or time from clients with the token.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

namespace tern::view {

struct ConnectionLimits {
  std::size_t request_bytes = 16 << 10;      ///< request line and headers; a request has no body
  std::size_t connections = 256;             ///< limit: beyond, the oldest unanswered connection is closed
  std::size_t answers = 64;                  ///< computed or sent at a time; further connections wait in the system's
                                             ///< queue
  std::chrono::milliseconds to_ask{5000};    ///< time from the connection to its complete request
  std::chrono::milliseconds to_take{60000};  ///< time for the client to receive the answer
  std::chrono::milliseconds to_close{1000};  ///< time for the client to close after the answer
};

class Connections {
 public:
  /// The answer to a request, as bytes of HTTP. Called in threads begun by `start`.
  using Answer = std::function<std::string(const std::string& request)>;
  /// Runs a function later on another thread.
  using Start = std::function<void(std::function<void()>)>;

  /// `listener`: a listening socket; this object takes ownership.
  Connections(int listener, Answer answer, Start start, const ConnectionLimits& limits = {});
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;
  /// Handles pending events, and waits for more, at most for `most`.
  void turn(std::chrono::milliseconds most);

 private:
  using Clock = std::chrono::steady_clock;
  struct Connection;
  /// The answers of threads; adding an answer wakes the loop.
  struct Answers;

  void accept_all();
  bool end_oldest();
  void read(Connection& c);
  void write(Connection& c);
  void take_answers();

  int listener_;
  Start start_;
  ConnectionLimits limits_;
  std::list<Connection> open_;  ///< the oldest first
  std::size_t answering_ = 0;
  std::shared_ptr<Answers> answers_;
};

}  // namespace tern::view
