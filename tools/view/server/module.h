// The server as a module that only `tern view` loads: cpp-httplib brings OpenSSL, which every other command would load
// in vain.
#pragma once

#include <functional>
#include <string>

#include "tools/view/server.h"

namespace tern::view {

inline constexpr const char* kServerModule = "tern_view_server.so";
inline constexpr const char* kServeFunction = "tern_view_serve";

struct ServerRequest {
  const Site& site;
  std::string token;  ///< in front of every address
  int port = 0;
  std::function<void(const std::string& address)> ready;
  std::function<bool()> ended;  ///< asked several times a second, until it says so
};

/// `problem` becomes what went wrong, empty for nothing. Throws nothing.
using ServeFunction = void (*)(const ServerRequest& request, std::string* problem);

}  // namespace tern::view
