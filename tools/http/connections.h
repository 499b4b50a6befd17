// The connections of the server: a single loop reads requests within limits, and only complete requests get a thread.
// Clients without the secret cannot take memory or time from clients with the secret.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "platform/socket.h"
#include "tools/http/request_reader.h"

namespace tern::http {

struct ConnectionLimits {
  RequestLimits request;
  std::size_t connections = 256;             ///< limit: beyond, the oldest unanswered connection is closed
  std::size_t answers = 64;                  ///< computed or sent at a time; further connections wait in the system's
                                             ///< queue
  std::size_t unsent_bytes = 1 << 20;        ///< bytes of an answer in parts that wait for the client
  std::chrono::milliseconds to_ask{5000};    ///< time from the connection to its complete request
  std::chrono::milliseconds to_take{60000};  ///< time for the client to receive the answer, or a part of it
  std::chrono::milliseconds to_close{1000};  ///< time for the client to close after the answer
};

/// The way of an answer to its client. Its thread writes parts, and the loop sends them.
class Reply {
 public:
  virtual ~Reply() = default;
  /// Waits while the client is far behind. False if the client is gone.
  virtual bool write(std::string_view bytes) = 0;
  virtual bool client_is_gone() const = 0;
};

class Connections {
 public:
  /// Answers a request, by bytes of HTTP. Called in threads begun by `start`.
  using Answer = std::function<void(const RequestReader& request, Reply& reply)>;
  /// Runs a function later on another thread.
  using Start = std::function<void(std::function<void()>)>;

  /// `listener`: a listening socket.
  Connections(platform::Socket listener, Answer answer, Start start, const ConnectionLimits& limits = {});
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;
  /// Handles pending events. Without any, waits for `max_wait` at most.
  void poll_events(std::chrono::milliseconds max_wait);
  /// Accepts no more connections, and closes those without a complete request.
  void stop_accepting();
  bool is_answering() const { return answering_ > 0; }
  /// Tells all answers that their clients are gone.
  void give_up_answers();

 private:
  using Clock = std::chrono::steady_clock;
  struct Connection;
  class Outgoing;

  void accept_all();
  bool end_oldest();
  void receive(Connection& c);
  void begin_answer(Connection& c);
  void take_parts(Connection& c);
  void send(Connection& c);
  void lose(Connection& c);

  platform::Socket listener_;
  Answer answer_;
  Start start_;
  ConnectionLimits limits_;
  std::list<Connection> open_connections_;  ///< the oldest first
  std::size_t answering_ = 0;
  std::shared_ptr<platform::Wake> wake_;
};

}  // namespace tern::http
