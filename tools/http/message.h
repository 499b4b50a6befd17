// A request and its response, as the sites of the HTTP server see them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tern::http {

using Fields = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method, path, body;
  Fields headers, parameters;  ///< parameters of the address, decoded
  std::function<bool()> client_is_gone;

  /// The first header of this name in any case; empty if absent.
  std::string_view header(std::string_view name) const;
  /// The first parameter of this name; empty if absent.
  std::string_view parameter(std::string_view name) const;
};

/// Sends a part of a body. False if the client is gone.
using WriteBody = std::function<bool(std::string_view part)>;

struct Response {
  int status = 200;
  std::string type = "text/plain", body;
  Fields headers;
  /// Writes the body in parts, instead of `body`. The status is sent before the call.
  std::function<void(const WriteBody& write)> stream;
};

/// Compares in constant time for texts of the same size: the time tells nothing about a secret.
bool is_equal_secret(std::string_view a, std::string_view b);

}  // namespace tern::http
