// Serves a site by HTTP.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "tools/http/connections.h"
#include "tools/http/message.h"

namespace tern::http {

struct ServerOptions {
  std::string host = "127.0.0.1";  ///< address of the interface, IPv4 or IPv6
  int port = 0;                    ///< 0: any free port
  ConnectionLimits limits;
  std::size_t threads = 16;  ///< threads answering complete requests
  /// Waiting time for answers after `ended`; a second end stops the waiting.
  std::chrono::milliseconds to_finish{0};
  std::function<Response(const Request& request)> answer;  ///< called by several threads at once
  std::function<void(int port)> on_ready;                  ///< the server accepts connections from now on
  std::function<int()> ended;                              ///< number of requests to end; polled several times a second
};

/// Serves until `ended`. If answers delay the end, the process exits with status 0. Throws io if the port is in use,
/// unsupported if the server's module cannot be loaded; `command` and `advice` belong to that message.
void serve(const ServerOptions& options, const std::string& command, const std::string& advice);

}  // namespace tern::http
