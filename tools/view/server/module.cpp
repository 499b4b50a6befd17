#include "tools/view/server/module.h"

#include <httplib.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <future>
#include <mutex>
#include <thread>

#include "tools/view/server/connections.h"

namespace tern::view {
namespace {

constexpr const char* kHost = "127.0.0.1";
constexpr int kSeconds = 10;                  // for the next bytes of a request to arrive
constexpr int kThreads = 64;                  // each for a connection: they mostly wait
constexpr std::chrono::seconds kPatience(1);  // with connections that are open at the end
constexpr std::array<std::pair<const char*, const char*>, 5> kHeaders = {{
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},  // the address holds the token
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"X-Frame-Options", "DENY"},
}};

/// Takes as long for every text of the same size.
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
  Pages(const ServerRequest& request, httplib::Server& server, int port, Connections& connections)
      : site_(request.site),
        connections_(connections),
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
    // A page of another site may point a name of its own at this machine; the browser then sends that name.
    const std::string host = request.get_header_value("Host");
    if (host != hosts_[0] && host != hosts_[1])
      return refuse(response, 403, "not a name of this server"), Handled::Handled;
    if (!same(std::string_view(request.path).substr(0, prefix_.size()), prefix_))
      return refuse(response, 404, "there is nothing at this address; 'tern view' prints the right one"),
             Handled::Handled;
    if (request.method != "GET" && request.method != "HEAD")
      return refuse(response, 405, "only GET is answered"), Handled::Handled;
    connections_.keep(request.remote_port);
    return Handled::Unhandled;
  }

  template <class Of>
  void answer(httplib::Response& response, std::optional<std::uint32_t> a, std::optional<std::uint32_t> b,
              const Of& of) {
    if (!a || !b) return refuse(response, 400, "the address lacks a number");
    const std::lock_guard lock(mutex_);  // a weight takes all threads and much memory
    const std::optional<std::string> json = of(*a, *b);
    if (!json) return refuse(response, 404, "there is no such weight");
    response.set_content(*json, "application/json");
  }

  const Site& site_;
  Connections& connections_;
  const std::string prefix_;
  const std::array<std::string, 2> hosts_;
  std::mutex mutex_;
};

std::string run(const ServerRequest& request) {
  httplib::Server server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  // Without SO_REUSEPORT, by which two servers would share a port.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.set_payload_max_length(1024);  // requests have no body
  server.set_read_timeout(kSeconds);
  server.set_write_timeout(kSeconds);
  server.set_keep_alive_max_count(100);
  server.set_keep_alive_timeout(2);
  const int asked = request.port;
  const int bound = asked == 0 ? server.bind_to_any_port(kHost) : server.bind_to_port(kHost, asked) ? asked : -1;
  if (bound < 0 && asked == 0) return "no port of 127.0.0.1 is free";
  if (bound < 0)
    return "port " + std::to_string(asked) + " of 127.0.0.1 cannot be opened; without --port a free one is taken";
  Connections connections(bound);
  const Pages pages(request, server, bound, connections);
  std::future<bool> listener = std::async(std::launch::async, [&] { return server.listen_after_bind(); });
  while (!server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  request.ready("http://" + std::string(kHost) + ":" + std::to_string(bound) + pages.prefix());
  for (int turn = 1; !request.ended(); ++turn) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (turn % 10 == 0) connections.end_old();
  }
  server.stop();
  // It waits for its threads, and one of them for a request that may come byte by byte.
  if (listener.wait_for(kPatience) == std::future_status::ready) return {};
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
