#include "tools/sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <latch>
#include <nlohmann/json.hpp>
#include <thread>

#include "platform/machine.h"
#include "tools/json_text.h"
#include "tools/percentile.h"
#include "tools/terminal.h"
#include "tools/text.h"
#include "tools/text_table.h"

namespace tern {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kTurnCount = 6;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A session with its inputs and measurements.
struct WorkerSession {
  Session session;
  std::vector<Tensor> inputs;
  std::vector<double> latencies;
  std::exception_ptr error;
  Clock::time_point end;

  void run(const std::string& function, double seconds, std::latch& start) {
    start.arrive_and_wait();
    try {
      const auto begin = Clock::now();
      do {
        const auto run_begin = Clock::now();
        session.run(function, inputs);
        latencies.push_back(seconds_since(run_begin) * 1e3);
      } while (seconds_since(begin) < seconds);
    } catch (...) {
      error = std::current_exception();
    }
    end = Clock::now();
  }
};

/// Sessions of a prepared program with the same number of threads each.
class SessionGroup {
 public:
  SessionGroup(const Model& model, const SessionsRequest& request, int sessions, int threads)
      : function_(request.function), threads_(threads) {
    const std::int64_t old_bytes = platform::private_bytes();
    PrepareOptions options = request.options;
    options.threads = threads;
    const PreparedModel prepared = model.prepare(options);
    for (int i = 0; i < sessions; ++i) {
      WorkerSession& w = workers_.emplace_back(WorkerSession{Session(prepared), {}, {}, {}, {}});
      w.session.set_seed(request.seed);
      for (const Tensor& t : request.inputs) w.inputs.push_back(t.clone());
    }
    for (WorkerSession& w : workers_) w.session.run(function_, w.inputs);
    bytes_ = static_cast<double>(platform::private_bytes() - old_bytes);
  }
  void run_turn(double seconds) {
    std::latch start(std::ssize(workers_) + 1);
    std::vector<std::jthread> threads;
    for (WorkerSession& w : workers_) threads.emplace_back([&] { w.run(function_, seconds, start); });
    start.arrive_and_wait();
    const auto begin = Clock::now();
    threads.clear();
    Clock::time_point end = begin;
    for (const WorkerSession& w : workers_) {
      if (w.error) std::rethrow_exception(w.error);
      end = std::max(end, w.end);
    }
    seconds_ += std::chrono::duration<double>(end - begin).count();
  }
  SessionsRate rate() const {
    SessionsRate r{static_cast<int>(workers_.size()), threads_, 0, {}, bytes_};
    for (const WorkerSession& w : workers_)
      r.latencies.insert(r.latencies.end(), w.latencies.begin(), w.latencies.end());
    std::ranges::sort(r.latencies);
    r.runs_per_second = static_cast<double>(r.latencies.size()) / seconds_;
    return r;
  }

 private:
  const std::string& function_;
  int threads_;
  std::vector<WorkerSession> workers_;
  double seconds_ = 0, bytes_ = 0;
};

}  // namespace

std::vector<SessionsRate> measure_sessions(const Model& model, const SessionsRequest& request) {
  const int threads_per_session = request.options.threads;
  SessionGroup many_sessions(model, request, request.sessions, threads_per_session),
      single_session(model, request, 1, threads_per_session * request.sessions);
  Progress progress("turns", kTurnCount);
  for (int turn = 0; turn < kTurnCount; ++turn) {
    many_sessions.run_turn(request.seconds / (2 * kTurnCount));
    single_session.run_turn(request.seconds / (2 * kTurnCount));
    progress.advance();
  }
  return {many_sessions.rate(), single_session.rate()};
}

void print_sessions(const std::string& model, const std::string& function, const std::vector<SessionsRate>& rates) {
  using Align = TextTable::Align;
  TextTable table({{"sessions", Align::right},
                   {"threads of each", Align::right},
                   {"runs/s", Align::right},
                   {"to the last", Align::right},
                   {"median ms", Align::right},
                   {"99 % in", Align::right},
                   {"MB private", Align::right}});
  for (const SessionsRate& r : rates)
    table.add_row({fmt::format("{}", r.sessions), fmt::format("{}", r.threads),
                   fmt::format("{:.2f}", r.runs_per_second),
                   fmt::format("{:.2f}", r.runs_per_second / rates.back().runs_per_second),
                   fmt::format("{:.3f}", percentile(r.latencies, 50)),
                   fmt::format("{:.3f}", percentile(r.latencies, 99)), fmt::format("{:.1f}", r.private_bytes / 1e6)});
  fmt::print("{}: '{}', sessions that run at once, in turns with one session of all threads\n{}", escape_name(model),
             escape_name(function), table.str());
}

void print_sessions_json(const std::string& model, const std::string& function,
                         const std::vector<SessionsRate>& rates) {
  nlohmann::ordered_json document = {
      {"model", model}, {"function", function}, {"sessions", nlohmann::ordered_json::array()}};
  for (const SessionsRate& r : rates) {
    document["sessions"].push_back({{"sessions", r.sessions},
                                    {"threads", r.threads},
                                    {"runs", r.latencies.size()},
                                    {"runs_per_second", json_rounded(r.runs_per_second, 4)},
                                    {"latency_ms",
                                     {{"p50", json_rounded(percentile(r.latencies, 50), 4)},
                                      {"p99", json_rounded(percentile(r.latencies, 99), 4)}}},
                                    {"private_bytes", json_rounded(r.private_bytes, 0)}});
  }
  fmt::print("{}\n", json_text(document));
}

}  // namespace tern
