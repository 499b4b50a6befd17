// Ends connections that take long: each has a thread of the server, which a client that sends its request byte by byte
// would keep for ever.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <mutex>

namespace tern::view {

class Connections {
 public:
  using Clock = std::chrono::steady_clock;
  /// Of the server at this port of this process.
  explicit Connections(int port) : port_(port) {}
  /// The client at this port has sent a request that is answered. On any thread.
  void keep(int client);
  /// Ends connections whose first request takes longer than kRequests, or the answer to the last one longer than
  /// kAnswers. To be called every now and then, by one thread.
  void end_old();

 private:
  static constexpr std::chrono::seconds kRequests{5}, kAnswers{300};
  int port_;
  std::map<ino_t, Clock::time_point> since_;  ///< by the socket's number, when it began
  std::mutex mutex_;                          ///< of what follows
  std::map<int, Clock::time_point> kept_;     ///< by the client's port
};

}  // namespace tern::view
