// A server classifying handwritten digits: a PreparedModel, and a Session in each answering thread.
//
//   service DIGITS.tern [PORT]      POST /classify: 64 numbers from 0 to 1, line by line, as a JSON list
//
// Prints its address. Ends at SIGTERM or Ctrl-C, after the requests in progress.
#include <httplib.h>
#include <tern/tern.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr const char* kPath = "/classify";
constexpr std::size_t kPixels = 64;
constexpr std::size_t kMaxBodyBytes = 1 << 16;
constexpr std::time_t kTimeoutSeconds = 2;  // limit for a client's pause between bytes

/// Idle sessions. Their number never exceeds the number of concurrent answers.
class Sessions {
 public:
  explicit Sessions(tern::PreparedModel prepared) : prepared_(std::move(prepared)) {}

  std::unique_ptr<tern::Session> acquire() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto session = std::move(idle_.back());
        idle_.pop_back();
        return session;
      }
    }
    return std::make_unique<tern::Session>(prepared_);
  }
  void release(std::unique_ptr<tern::Session> session) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(session));
  }

 private:
  tern::PreparedModel prepared_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<tern::Session>> idle_;
};

nlohmann::json classify(Sessions& sessions, const std::vector<float>& pixels) {
  const auto image = tern::Tensor::borrow(pixels.data(), tern::DType::f32, {1, 1, 8, 8});
  auto session = sessions.acquire();
  const auto logits = session->run({image}).at(0).span<const float>();
  if (logits.empty()) throw std::runtime_error("the program gives no logits: it is no digits.tern");
  const auto max_logit = std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - *max_logit);
  const nlohmann::json answer = {{"digit", max_logit - logits.begin()}, {"probability", 1 / sum}};
  sessions.release(std::move(session));  // a session with a failed run is dropped instead
  return answer;
}

/// Parses the pixels of a request; empty for an invalid body.
std::optional<std::vector<float>> pixels_of(const std::string& body) {
  const auto json = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  const auto is_pixel = [](const nlohmann::json& value) {
    return value.is_number() && value.get<double>() >= 0 && value.get<double>() <= 1;
  };
  if (!json.is_array() || json.size() != kPixels || !std::all_of(json.begin(), json.end(), is_pixel)) return {};
  return json.get<std::vector<float>>();
}

void send_error(httplib::Response& response, int status, const std::string& reason) {
  response.status = status;
  response.set_content(nlohmann::json{{"error", reason}}.dump(), "application/json");
}

void answer(Sessions& sessions, httplib::Response& response, const httplib::ContentReader& read_body) {
  // Counts decompressed bytes as they arrive: the server's own limit applies to the declared length.
  std::string body;
  const bool is_complete = read_body([&](const char* data, std::size_t size) {
    if (body.size() + size > kMaxBodyBytes) return false;
    body.append(data, size);
    return true;
  });
  if (!is_complete) return send_error(response, 413, "the body is not complete, or larger than 64 KiB");
  const auto pixels = pixels_of(body);
  if (!pixels) return send_error(response, 400, "the body is no JSON list of 64 numbers from 0 to 1");
  try {
    response.set_content(classify(sessions, *pixels).dump(), "application/json");
  } catch (const tern::Error& error) {
    send_error(response, 500, error.what());
  }
}

/// Opens the port of 127.0.0.1 in `text`, any free port if null. -1 on failure.
int open_port(httplib::Server& server, const char* text) {
  if (text == nullptr) return server.bind_to_any_port("127.0.0.1");
  int port = 0;
  const char* const end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, port);
  const bool is_valid = error == std::errc() && rest == end && port > 0 && port < 65536;
  return is_valid && server.bind_to_port("127.0.0.1", port) ? port : -1;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) return std::fputs("usage: service DIGITS.tern [PORT]\n", stderr), 2;
  // Blocks these signals in every thread: only the thread below receives them.
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);

  tern::PrepareOptions options;
  options.threads = 1;      // requests run concurrently, each on its answering thread
  options.max_seconds = 5;  // longer runs are errors of their requests
  Sessions sessions(tern::Model::open(argv[1]).prepare(options));

  classify(sessions, std::vector<float>(kPixels));  // a program other than the digits' fails here

  httplib::Server server;
  server.set_payload_max_length(kMaxBodyBytes);
  server.set_read_timeout(kTimeoutSeconds);
  server.set_write_timeout(kTimeoutSeconds);
  server.set_keep_alive_timeout(kTimeoutSeconds);
  // Runs before the body is read.
  server.set_pre_routing_handler([](const auto& request, auto& response) {
    if (request.method == "POST" && request.path == kPath) return httplib::Server::HandlerResponse::Unhandled;
    send_error(response, 404, std::string("it answers POST ") + kPath);
    return httplib::Server::HandlerResponse::Handled;
  });
  server.Post(kPath,
              [&](const auto&, auto& response, const auto& read_body) { answer(sessions, response, read_body); });
  const int port = open_port(server, argc > 2 ? argv[2] : nullptr);
  if (port < 0) return std::fprintf(stderr, "service: cannot open port %s of 127.0.0.1\n", argc > 2 ? argv[2] : "0"), 1;
  std::printf("http://127.0.0.1:%d%s\n", port, kPath);
  std::fflush(stdout);

  std::atomic<bool> has_ended = false;
  std::thread signal_thread([&] {
    int signal = 0;
    sigwait(&stop, &signal);
    // stop() does nothing before the server listens.
    while (!server.is_running() && !has_ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    server.stop();
  });
  const bool stopped_on_request = server.listen_after_bind();
  has_ended = true;
  pthread_kill(signal_thread.native_handle(), SIGTERM);  // if the server ended by itself
  signal_thread.join();
  return stopped_on_request ? 0 : 1;
} catch (const std::exception& error) {
  return std::fprintf(stderr, "service: %s\n", error.what()), 1;
}
