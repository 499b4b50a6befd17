// The server as a module loaded only by `tern view`: cpp-httplib depends on OpenSSL, useless for every other command.
#pragma once

#include <functional>
#include <string>

#include "tools/view/server.h"

namespace tern::view {

inline constexpr const char* kServerModule = "tern_view_server.so";
inline constexpr const char* kServeFunction = "tern_view_serve";

struct ServerRequest {
  const Site& site;
  std::string token;  ///< prefix of every address
  int port = 0;
  std::function<void(const std::string& address)> ready;
  std::function<bool()> ended;  ///< polled several times a second until true
};

/// `problem` receives the error text, empty on success. Throws nothing.
using ServeFunction = void (*)(const ServerRequest& request, std::string* problem);

}  // namespace tern::view
