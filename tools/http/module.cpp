#include "tools/http/module.h"

#include <httplib.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <utility>

#include "platform/export.h"
#include "platform/socket.h"
#include "tools/http/connections.h"

namespace tern::http {
namespace {

constexpr std::chrono::seconds kShutdownTimeout(1);  // waiting time for the threads at the end

/// Passes the head of a request to cpp-httplib, and the answer to the connection.
class HttpExchange : public httplib::Stream {
 public:
  HttpExchange(const std::string& head, Reply& reply) : head_(head), reply_(reply) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override { return !reply_.client_is_gone(); }
  ssize_t read(char* buffer, std::size_t size) override {
    const std::size_t count = head_.copy(buffer, size, read_position_);
    read_position_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* data, std::size_t size) override {
    return reply_.write({data, size}) ? static_cast<ssize_t>(size) : -1;
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override { get_local_ip_and_port(ip, port); }
  void get_local_ip_and_port(std::string& ip, int& port) const override { ip = "", port = 0; }
  socket_t socket() const override { return 0; }

 private:
  const std::string& head_;
  Reply& reply_;
  std::size_t read_position_ = 0;
};

/// cpp-httplib parses heads and formats answers. Its own connections lack limits of bytes and time.
class SiteServer : public httplib::Server {
 public:
  explicit SiteServer(const ServerOptions& options) : options_(options) {
    svr_sock_ = 0;  // cpp-httplib writes parts of a body only if it has a socket; it never uses this one
    set_pre_routing_handler([this](const auto& request, auto& response) {
      answer_request(request, response);
      return httplib::Server::HandlerResponse::Handled;
    });
  }

  void answer(const RequestReader& request, Reply& reply) {
    HttpExchange exchange(request.head(), reply);
    bool closed = false;
    process_request(exchange, true, closed, [&](httplib::Request& parsed) {
      parsed.body = request.body();
      reply_ = &reply;
    });
  }

 private:
  void answer_request(const httplib::Request& source, httplib::Response& reply_out) {
    Request request{
        source.method, source.path, source.body, {}, {}, [reply = reply_] { return reply->client_is_gone(); }};
    request.headers.assign(source.headers.begin(), source.headers.end());
    request.parameters.assign(source.params.begin(), source.params.end());
    Response response = options_.answer(request);
    reply_out.status = response.status;
    for (const auto& [name, value] : response.headers) reply_out.set_header(name, value);
    if (!response.stream) return reply_out.set_content(response.body, response.type);
    reply_out.set_chunked_content_provider(
        response.type, [stream = std::move(response.stream)](std::size_t, httplib::DataSink& sink) {
          bool is_here = true;
          stream([&](std::string_view part) { return is_here = is_here && sink.write(part.data(), part.size()); });
          if (is_here) sink.done();
          return is_here;
        });
  }

  const ServerOptions& options_;
  static thread_local Reply* reply_;  ///< client of this thread
};

thread_local Reply* SiteServer::reply_ = nullptr;

std::string shown_address(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

/// A socket listening at the port (0: any free port); not open after a failure.
platform::Socket listen_at(const std::string& host, int port) {
  constexpr int kWaiting = 4096;  // the default limit of Linux (net.core.somaxconn)
  std::string problem;
  const auto addresses = platform::resolve(host, std::to_string(port), platform::Resolve::listen_numeric, &problem);
  return addresses.empty() ? platform::Socket() : platform::Socket::listen(addresses.front(), kWaiting);
}

std::string run_server(const ServerOptions& options) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPollInterval(100);
  platform::Socket listener = listen_at(options.host, options.port);
  if (!listener.is_open() && options.port == 0) return "no port of " + shown_address(options.host) + " is free";
  if (!listener.is_open())
    return "port " + std::to_string(options.port) + " of " + shown_address(options.host) +
           " cannot be opened; without --port a free one is taken";
  const auto address = listener.own_address();
  const int port = address ? address->port() : 0;
  SiteServer server(options);
  httplib::ThreadPool threads(options.threads);
  {
    Connections connections(
        std::move(listener), [&](const RequestReader& request, Reply& reply) { server.answer(request, reply); },
        [&](std::function<void()> task) { threads.enqueue(std::move(task)); }, options.limits);
    options.on_ready(port);
    while (options.ended() == 0) connections.poll_events(kPollInterval);
    connections.stop_accepting();
    const Clock::time_point end = Clock::now() + options.to_finish;
    while (connections.is_answering() && Clock::now() < end && options.ended() < 2)
      connections.poll_events(kPollInterval);
    connections.give_up_answers();
  }
  // A thread may still work on an answer.
  std::future<void> idle = std::async(std::launch::async, [&] { threads.shutdown(); });
  if (idle.wait_for(kShutdownTimeout) == std::future_status::ready) return {};
  std::fflush(nullptr);
  std::_Exit(0);
}

}  // namespace
}  // namespace tern::http

extern "C" TERN_PLATFORM_EXPORT void tern_http_serve(const tern::http::ServerOptions& options, std::string* problem) {
  try {
    *problem = tern::http::run_server(options);
  } catch (const std::exception& e) {
    *problem = e.what();
  }
}
