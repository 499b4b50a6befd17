// Serves the page to browsers of this machine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tern::view {

struct Site {
  std::string page;  ///< HTML
  /// JSON of a weight: number of the model and of the state. Empty for an unknown weight.
  std::function<std::optional<std::string>(std::uint32_t model, std::uint32_t state)> weight;
  /// JSON comparing a state of the first model with a state of the second.
  std::function<std::optional<std::string>(std::uint32_t state, std::uint32_t other)> compared;
};

/// Serves on 127.0.0.1 until Ctrl-C or SIGTERM, then returns. Every address begins with a random token, and the request
/// must name this machine as its host: neither other users nor pages of other sites get an answer. `port` 0: any free
/// port. `ready` gets the page's address, and `ended` is called at the end. If incomplete requests delay the end, the
/// process exits with status 0. Throws io if the port is in use, unsupported if the server's module cannot be loaded.
void serve(const Site& site, int port, const std::function<void(const std::string& address)>& ready,
           const std::function<void()>& ended);

}  // namespace tern::view
