// Serves the page to browsers of this machine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tern::view {

struct Site {
  std::string page;  ///< HTML
  /// JSON of a weight: number of the model and of the state. None where there is no such weight.
  std::function<std::optional<std::string>(std::uint32_t model, std::uint32_t state)> weight;
  /// JSON of a state of the first model compared with one of the second.
  std::function<std::optional<std::string>(std::uint32_t state, std::uint32_t other)> compared;
};

/// Answers on 127.0.0.1 until Ctrl-C or SIGTERM comes, then returns. Every address begins with a random token, and
/// the request must name this machine as its host, so that neither other users nor pages of other sites get an answer.
/// `port` 0: any that is free. `ready` gets the page's address, and `ended` is called when the end comes. Where
/// requests that do not arrive hold it up, the process then ends itself, with status 0. Throws io where the port is
/// taken, unsupported where the server's module cannot be loaded.
void serve(const Site& site, int port, const std::function<void(const std::string& address)>& ready,
           const std::function<void()>& ended);

}  // namespace tern::view
