// A server that classifies handwritten digits: one Prepared, and a Session in each thread that answers.
//
//   service DIGITS.tern [PORT]      POST /classify: 64 numbers from 0 to 1, line by line, as a JSON list
//
// Prints its address. Ends at SIGTERM or Ctrl-C, after the requests that have begun.
#include <httplib.h>
#include <tern/tern.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kPixels = 64;

/// Sessions that no request uses now. There are never more than threads that answer at the same time.
class Sessions {
 public:
  explicit Sessions(tern::Prepared prepared) : prepared_(std::move(prepared)) {}

  std::unique_ptr<tern::Session> take() {
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
  void give_back(std::unique_ptr<tern::Session> session) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(session));
  }

 private:
  tern::Prepared prepared_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<tern::Session>> idle_;
};

nlohmann::json classify(Sessions& sessions, const std::vector<float>& pixels) {
  const auto image = tern::Tensor::borrow(pixels.data(), tern::DType::f32, {1, 1, 8, 8});
  auto session = sessions.take();
  const auto logits = session->run({image})[0].span<const float>();
  const auto best = std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - *best);
  const nlohmann::json answer = {{"digit", best - logits.begin()}, {"probability", 1 / sum}};
  sessions.give_back(std::move(session));  // a session whose run failed is dropped instead
  return answer;
}

void answer(Sessions& sessions, const httplib::Request& request, httplib::Response& response) {
  const auto refuse = [&](int status, const std::string& why) {
    response.status = status;
    response.set_content(nlohmann::json{{"error", why}}.dump(), "application/json");
  };
  try {
    const auto pixels = nlohmann::json::parse(request.body).get<std::vector<float>>();
    if (pixels.size() != kPixels) return refuse(400, "an image has 64 numbers, not " + std::to_string(pixels.size()));
    response.set_content(classify(sessions, pixels).dump(), "application/json");
  } catch (const nlohmann::json::exception&) {
    refuse(400, "the body is no list of numbers in JSON");
  } catch (const tern::Error& error) {
    refuse(500, error.what());
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) return std::fputs("usage: service DIGITS.tern [PORT]\n", stderr), 2;
  // Every thread has these signals blocked: only the one below takes them.
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);

  tern::PrepareOptions options;
  options.threads = 1;      // requests run beside each other, each on the thread that answers it
  options.max_seconds = 5;  // a run that takes longer is an error of its request
  Sessions sessions(tern::Model::open(argv[1]).prepare(options));

  httplib::Server server;
  server.set_payload_max_length(1 << 16);
  server.Post("/classify", [&](const auto& request, auto& response) { answer(sessions, request, response); });
  const int wanted = argc > 2 ? std::atoi(argv[2]) : 0;
  const int port = wanted > 0 && server.bind_to_port("127.0.0.1", wanted) ? wanted
                   : wanted == 0                                          ? server.bind_to_any_port("127.0.0.1")
                                                                          : -1;
  if (port < 0) return std::fprintf(stderr, "service: port %s is not free\n", argv[2]), 1;
  std::printf("http://127.0.0.1:%d/classify\n", port);
  std::fflush(stdout);

  std::thread waiting([&] {
    int signal = 0;
    sigwait(&stop, &signal);
    server.stop();
  });
  server.listen_after_bind();
  pthread_kill(waiting.native_handle(), SIGTERM);  // where the server ended by itself
  waiting.join();
} catch (const tern::Error& error) {
  return std::fprintf(stderr, "service: %s\n", error.what()), 1;
}
