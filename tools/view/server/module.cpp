#include "tools/view/server/module.h"

#include <arpa/inet.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <future>
#include <mutex>
#include <utility>

#include "tools/view/server/connections.h"

namespace tern::view {
namespace {

constexpr const char* kHost = "127.0.0.1";
constexpr int kThreads = 16;                         // threads answering complete requests
constexpr std::chrono::seconds kShutdownTimeout(1);  // waiting time for pending answers at the end
constexpr std::array<std::pair<const char*, const char*>, 5> kHeaders = {{
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},  // the address contains the token
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"X-Frame-Options", "DENY"},
}};

/// Compares in constant time for texts of the same size: the time tells nothing about the token.
bool is_equal(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char differ = 0;
  for (std::size_t i = 0; i < a.size(); ++i) differ = static_cast<unsigned char>(differ | (a[i] ^ b[i]));
  return differ == 0;
}

/// Reads a parameter of the address; empty unless it is a decimal number.
std::optional<std::uint32_t> parse_number(const httplib::Request& request, const char* name) {
  const std::string text = request.get_param_value(name);
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

void send_error(httplib::Response& response, int status, const char* reason) {
  response.status = status;
  response.set_content(std::string(reason) + "\n", "text/plain");
}

class Pages {
 public:
  Pages(const ServerRequest& request, httplib::Server& server, int port)
      : site_(request.site),
        prefix_("/" + request.token + "/"),
        hosts_{"127.0.0.1:" + std::to_string(port), "localhost:" + std::to_string(port)} {
    server.set_pre_routing_handler([this](const auto& request, auto& response) { return check(request, response); });
    server.Get(prefix_, [this](const auto&, auto& response) { response.set_content(site_.page, "text/html"); });
    server.Get(prefix_ + "weight", [this](const auto& request, auto& response) {
      answer(response, parse_number(request, "model"), parse_number(request, "state"), site_.weight);
    });
    server.Get(prefix_ + "compared", [this](const auto& request, auto& response) {
      answer(response, parse_number(request, "state"), parse_number(request, "other"), site_.compared);
    });
  }
  const std::string& prefix() const { return prefix_; }

 private:
  httplib::Server::HandlerResponse check(const httplib::Request& request, httplib::Response& response) const {
    using Handled = httplib::Server::HandlerResponse;
    for (const auto& [name, value] : kHeaders) response.set_header(name, value);
    response.set_header("Cache-Control", "no-store");
    // Checks the host: another site may point its own name at this machine, and the browser then sends this name.
    const std::string host = request.get_header_value("Host");
    if (host != hosts_[0] && host != hosts_[1]) return send_error(response, 403, "unknown host name"), Handled::Handled;
    if (!is_equal(std::string_view(request.path).substr(0, prefix_.size()), prefix_))
      return send_error(response, 404, "there is nothing at this address; 'tern view' prints the right one"),
             Handled::Handled;
    if (request.method != "GET" && request.method != "HEAD")
      return send_error(response, 405, "only GET requests are supported"), Handled::Handled;
    return Handled::Unhandled;
  }

  template <class MakeJson>
  void answer(httplib::Response& response, std::optional<std::uint32_t> a, std::optional<std::uint32_t> b,
              const MakeJson& make_json) {
    if (!a || !b) return send_error(response, 400, "the address lacks a number");
    const std::lock_guard lock(mutex_);  // a weight takes all threads and much memory
    const std::optional<std::string> json = make_json(*a, *b);
    if (!json) return send_error(response, 404, "the weight does not exist");
    response.set_content(*json, "application/json");
  }

  const Site& site_;
  const std::string prefix_;
  const std::array<std::string, 2> hosts_;
  std::mutex mutex_;
};

/// Passes a complete request to cpp-httplib and collects the answer.
class HttpExchange : public httplib::Stream {
 public:
  explicit HttpExchange(const std::string& request) : request_(request) {}
  std::string take_answer() { return std::move(answer_); }

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* buffer, std::size_t size) override {
    const std::size_t count = request_.copy(buffer, size, read_position_);
    read_position_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* data, std::size_t size) override {
    answer_.append(data, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override { get_local_ip_and_port(ip, port); }
  void get_local_ip_and_port(std::string& ip, int& port) const override { ip = kHost, port = 0; }
  socket_t socket() const override { return 0; }

 private:
  const std::string& request_;
  std::size_t read_position_ = 0;
  std::string answer_;
};

/// cpp-httplib parses requests and formats answers. Its own connections lack limits of bytes and time.
class ViewServer : public httplib::Server {
 public:
  std::string answer(const std::string& request) {
    HttpExchange exchange(request);
    bool closed = false;
    process_request(exchange, true, closed, nullptr);
    return exchange.take_answer();
  }
};

/// A socket listening at the port (0: any free port), or -1.
int listen_at(int port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  // Omits SO_REUSEPORT: two servers could share a port.
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, kHost, &address.sin_addr);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(listener, SOMAXCONN) == 0)
    return listener;
  ::close(listener);
  return -1;
}

int bound_port(int listener) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  return ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0 ? ntohs(address.sin_port) : 0;
}

std::string run_server(const ServerRequest& request) {
  const int listener = listen_at(request.port);
  if (listener < 0 && request.port == 0) return "no port of 127.0.0.1 is free";
  if (listener < 0)
    return "port " + std::to_string(request.port) +
           " of 127.0.0.1 cannot be opened; without --port a free one is taken";
  const int port = bound_port(listener);
  ViewServer server;
  server.set_payload_max_length(1024);  // requests have no body
  const Pages pages(request, server, port);
  httplib::ThreadPool threads(kThreads);
  {
    Connections connections(
        listener, [&](const std::string& complete_request) { return server.answer(complete_request); },
        [&](std::function<void()> work) { threads.enqueue(std::move(work)); });
    request.ready("http://" + std::string(kHost) + ":" + std::to_string(port) + pages.prefix());
    while (!request.ended()) connections.turn(std::chrono::milliseconds(100));
  }
  // A thread may still work on a weight.
  std::future<void> idle = std::async(std::launch::async, [&] { threads.shutdown(); });
  if (idle.wait_for(kShutdownTimeout) == std::future_status::ready) return {};
  std::fflush(nullptr);
  ::_exit(0);
}

}  // namespace
}  // namespace tern::view

extern "C" __attribute__((visibility("default"))) void tern_view_serve(const tern::view::ServerRequest& request,
                                                                       std::string* problem) {
  try {
    *problem = tern::view::run_server(request);
  } catch (const std::exception& e) {
    *problem = e.what();
  }
}
