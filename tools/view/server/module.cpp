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
constexpr int kThreads = 16;                  // threads answering complete requests
constexpr std::chrono::seconds kPatience(1);  // waiting time for pending answers at the end
constexpr std::array<std::pair<const char*, const char*>, 5> kHeaders = {{
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},  // the address contains the token
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"X-Frame-Options", "DENY"},
}};

/// Constant time for texts of the same size.
bool same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char differ = 0;
  for (std::size_t i = 0; i < a.size(); ++i) differ = static_cast<unsigned char>(differ | (a[i] ^ b[i]));
  return differ == 0;
}

std::optional<std::uint32_t> number(const httplib::Request& request, const char* name) {
  const std::string text = request.get_param_value(name);
  std::uint32_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return n;
}

void refuse(httplib::Response& response, int status, const char* why) {
  response.status = status;
  response.set_content(std::string(why) + "\n", "text/plain");
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
      answer(response, number(request, "model"), number(request, "state"), site_.weight);
    });
    server.Get(prefix_ + "compared", [this](const auto& request, auto& response) {
      answer(response, number(request, "state"), number(request, "other"), site_.compared);
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
    if (host != hosts_[0] && host != hosts_[1]) return refuse(response, 403, "unknown host name"), Handled::Handled;
    if (!same(std::string_view(request.path).substr(0, prefix_.size()), prefix_))
      return refuse(response, 404, "there is nothing at this address; 'tern view' prints the right one"),
             Handled::Handled;
    if (request.method != "GET" && request.method != "HEAD")
      return refuse(response, 405, "only GET requests are supported"), Handled::Handled;
    return Handled::Unhandled;
  }

  template <class Of>
  void answer(httplib::Response& response, std::optional<std::uint32_t> a, std::optional<std::uint32_t> b,
              const Of& of) {
    if (!a || !b) return refuse(response, 400, "the address lacks a number");
    const std::lock_guard lock(mutex_);  // a weight takes all threads and much memory
    const std::optional<std::string> json = of(*a, *b);
    if (!json) return refuse(response, 404, "the weight does not exist");
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
  std::string take() { return std::move(answer_); }

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, std::size_t size) override {
    const std::size_t n = request_.copy(to, size, at_);
    at_ += n;
    return static_cast<ssize_t>(n);
  }
  ssize_t write(const char* from, std::size_t size) override {
    answer_.append(from, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override { get_local_ip_and_port(ip, port); }
  void get_local_ip_and_port(std::string& ip, int& port) const override { ip = kHost, port = 0; }
  socket_t socket() const override { return 0; }

 private:
  const std::string& request_;
  std::size_t at_ = 0;
  std::string answer_;
};

/// cpp-httplib parses requests and formats answers. Its own connections lack limits of bytes and time.
class ViewServer : public httplib::Server {
 public:
  std::string answer(const std::string& request) {
    HttpExchange exchange(request);
    bool closed = false;
    process_request(exchange, true, closed, nullptr);
    return exchange.take();
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

int port_of(int listener) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  return ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0 ? ntohs(address.sin_port) : 0;
}

std::string run(const ServerRequest& request) {
  const int listener = listen_at(request.port);
  if (listener < 0 && request.port == 0) return "no port of 127.0.0.1 is free";
  if (listener < 0)
    return "port " + std::to_string(request.port) +
           " of 127.0.0.1 cannot be opened; without --port a free one is taken";
  const int port = port_of(listener);
  ViewServer server;
  server.set_payload_max_length(1024);  // requests have no body
  const Pages pages(request, server, port);
  httplib::ThreadPool threads(kThreads);
  {
    Connections connections(
        listener, [&](const std::string& asked) { return server.answer(asked); },
        [&](std::function<void()> work) { threads.enqueue(std::move(work)); });
    request.ready("http://" + std::string(kHost) + ":" + std::to_string(port) + pages.prefix());
    while (!request.ended()) connections.turn(std::chrono::milliseconds(100));
  }
  // A thread may still work on a weight.
  std::future<void> idle = std::async(std::launch::async, [&] { threads.shutdown(); });
  if (idle.wait_for(kPatience) == std::future_status::ready) return {};
  std::fflush(nullptr);
  ::_exit(0);
}

}  // namespace
}  // namespace tern::view

extern "C" __attribute__((visibility("default"))) void tern_view_serve(const tern::view::ServerRequest& request,
                                                                       std::string* problem) {
  try {
    *problem = tern::view::run(request);
  } catch (const std::exception& e) {
    *problem = e.what();
  }
}
