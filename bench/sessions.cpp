#include "bench/sessions.h"

#include <fmt/format.h>
#include <tern/tern.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "bench/inputs.h"
#include "platform/machine.h"

namespace tern::bench {
namespace {

constexpr int kSessions = 8, kLaterRuns = 5;

double run_ms(Session& session, const std::vector<Tensor>& inputs) {
  const auto start = std::chrono::steady_clock::now();
  session.run(inputs);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double median_of_later_runs(Session& session, const std::vector<Tensor>& inputs) {
  std::vector<double> times;
  for (int i = 0; i < kLaterRuns; ++i) times.push_back(run_ms(session, inputs));
  std::ranges::sort(times);
  return times[times.size() / 2];
}

}  // namespace

void measure_sessions(const std::string& path) {
  const Model model = Model::open(path);
  PrepareOptions options;
  options.threads = 1;
  options.weight_cache = "off";
  const std::vector<Tensor> inputs = inputs_of(model);
  Session(model.prepare(options)).run(inputs);  // checks hashes, and starts threads
  const PreparedModel prepared = model.prepare(options);
  const std::int64_t before = platform::private_bytes();
  std::vector<Session> sessions;
  double first = 0, later = 0, arenas = 0, states = 0;
  for (int i = 0; i < kSessions; ++i) first += run_ms(sessions.emplace_back(prepared), inputs);
  const auto memory = static_cast<double>(platform::private_bytes() - before);
  for (Session& s : sessions) {
    later += median_of_later_runs(s, inputs);
    arenas += static_cast<double>(s.stats().arena_bytes);
    states += static_cast<double>(s.stats().state_bytes);
  }
  fmt::print(
      "{}: {} first runs {:.2f} ms, {:.2f} ms more than later ones; private memory {:.1f} MB, arenas and states {:.1f} "
      "MB\n",
      path, kSessions, first, first - later, memory / 1e6, (arenas + states) / 1e6);
}

}  // namespace tern::bench
