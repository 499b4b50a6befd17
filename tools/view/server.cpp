#include "tools/view/server.h"

#include <array>
#include <charconv>
#include <mutex>
#include <utility>

#include "platform/signals.h"
#include "tools/http/server.h"
#include "tools/view/page.h"

namespace tern::view {
namespace {

const http::Fields kHeaders = {
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},  // the address contains the token
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"X-Frame-Options", "DENY"},
    {"Cache-Control", "no-store"},
};

/// Reads a parameter of the address; empty unless it is a decimal number.
std::optional<std::uint32_t> parse_number(const http::Request& request, const char* name) {
  const std::string_view text = request.parameter(name);
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

http::Response problem(int status, const char* reason) {
  return {status, "text/plain", std::string(reason) + "\n", kHeaders, {}};
}

class Pages {
 public:
  explicit Pages(const Site& site) : site_(site), prefix_("/" + random_token() + "/") {}
  const std::string& prefix() const { return prefix_; }
  /// The port is part of the host name that browsers send.
  void set_port(int port) { hosts_ = {"127.0.0.1:" + std::to_string(port), "localhost:" + std::to_string(port)}; }

  http::Response answer(const http::Request& request) {
    // Checks the host: another site may point its own name at this machine, and the browser then sends this name.
    const std::string_view host = request.header("Host");
    if (host != hosts_[0] && host != hosts_[1]) return problem(403, "unknown host name");
    const std::string_view path = request.path;
    if (!http::is_equal_secret(path.substr(0, prefix_.size()), prefix_))
      return problem(404, "there is nothing at this address; 'tern view' prints the right one");
    if (request.method != "GET" && request.method != "HEAD") return problem(405, "only GET requests are supported");
    const std::string_view name = path.substr(prefix_.size());
    if (name.empty()) return {200, "text/html", site_.page, kHeaders, {}};
    if (name == "weight") return json(parse_number(request, "model"), parse_number(request, "state"), site_.weight);
    if (name == "compared") return json(parse_number(request, "state"), parse_number(request, "other"), site_.compared);
    return problem(404, "there is nothing at this address");
  }

 private:
  template <class MakeJson>
  http::Response json(std::optional<std::uint32_t> a, std::optional<std::uint32_t> b, const MakeJson& make_json) {
    if (!a || !b) return problem(400, "the address lacks a number");
    const std::lock_guard lock(mutex_);  // a weight takes all threads and much memory
    std::optional<std::string> text = make_json(*a, *b);
    if (!text) return problem(404, "the weight does not exist");
    return {200, "application/json", std::move(*text), kHeaders, {}};
  }

  const Site& site_;
  const std::string prefix_;
  std::array<std::string, 2> hosts_;
  std::mutex mutex_;
};

}  // namespace

void serve(const Site& site, int port, const std::function<void(const std::string& address)>& ready,
           const std::function<void()>& ended) {
  const platform::Interrupt interrupt;
  Pages pages(site);
  http::ServerOptions options;
  options.port = port;
  options.answer = [&](const http::Request& request) { return pages.answer(request); };
  options.on_ready = [&](int bound) {
    pages.set_port(bound);
    ready("http://127.0.0.1:" + std::to_string(bound) + pages.prefix());
  };
  options.ended = [&] {
    if (interrupt.received_signal() == 0) return 0;
    ended();
    return 2;  // ends at once
  };
  http::serve(options, "tern view", "; --html FILE writes the same page to a file");
}

}  // namespace tern::view
