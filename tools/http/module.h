// The server as a module loaded only by commands that serve: cpp-httplib depends on OpenSSL, useless for every other
// command.
#pragma once

#include <string>

#include "tools/http/server.h"

namespace tern::http {

inline constexpr const char* kServerModule = "tern_http_server";
inline constexpr const char* kServeFunction = "tern_http_serve";

/// `problem` receives the error text, empty on success. Throws nothing.
using ServeFunction = void (*)(const ServerOptions& options, std::string* problem);

}  // namespace tern::http
