#include "tools/gains.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "exporter/tune/tune.h"
#include "exporter/tune/verdict.h"
#include "threads/threads.h"
#include "tools/command.h"
#include "tools/json_text.h"
#include "tools/verify/results.h"

namespace tern {
namespace {

constexpr double kLongestRun = 0.1;    // seconds; longer runs are not cheap
constexpr double kGainSeconds = 1;     // limit of the turns
constexpr double kTuneSeconds = 10;    // limit of the search
constexpr double kWorthSaying = 0.97;  // share of the time
constexpr std::size_t kMinTurns = 5, kMaxTurns = 25;

std::string gain_line(const char* option, double old_seconds, double new_seconds, const std::string& remark) {
  return fmt::format("  {:25} would take {:.2f} of the time: {:.3f} ms for {:.3f}{}\n", option,
                     new_seconds / old_seconds, new_seconds * 1e3, old_seconds * 1e3, remark);
}

bool is_worth_saying(double old_seconds, double new_seconds) {
  return old_seconds > 0 && new_seconds < kWorthSaying * old_seconds;
}

std::optional<TuneGain> measure_tuning(const Side& exported_side) {
  TuneOptions options;
  options.seconds = kTuneSeconds;
  const ThreadScope scope(Threads::chosen(exported_side.options.threads));
  const TuneReport report = tune(Model(exported_side.program), options);
  if (report.seconds_before <= 0) return std::nullopt;
  return TuneGain{report.seconds_before, report.seconds_after, report.kinds.size(), report.complete};
}

}  // namespace

double seconds_of_run(const Side& program_side, Session& session, const std::vector<Tensor>& inputs) {
  const std::vector<Tensor> copies = copies_of(inputs);
  const auto start = std::chrono::steady_clock::now();
  session.run(program_side.f().name, copies);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void add_gains_option(Command command, GainsChoice& choice) {
  static const std::map<std::string, GainsChoice> kChoices = {
      {"none", GainsChoice::none}, {"cheap", GainsChoice::cheap}, {"all", GainsChoice::full}};
  command
      .add_option_function(
          "--gains", [&choice](const std::string& text) { choice = kChoices.at(text); },
          "Say if --precision auto or tern export --tune would be faster: none; cheap, the precision if runs "
          "take at most 0.1 s; or all, which searches algorithms for 10 s too")
      .check([](const std::string& text) {
        return kChoices.contains(text) ? std::string() : fmt::format("takes none, cheap or all, not '{}'", text);
      })
      .default_str("cheap")
      .type_name("WHICH");
}

std::optional<PrecisionGain> measure_precision(const Side& exported_side, Precision precision,
                                               const std::vector<Tensor>& inputs, double median_seconds) {
  if (median_seconds > kLongestRun) return std::nullopt;
  Side changed_side = exported_side;
  changed_side.options.precision = precision;
  PrecisionGain gain;
  gain.precision = Model(exported_side.program).prepare(changed_side.options).precision();
  if (gain.precision == Precision::exported) return std::nullopt;
  Session plain_session = exported_side.session(exported_side.program),
          changed_session = changed_side.session(changed_side.program);
  Compared compared;
  {
    const CallResults reference = run_call(exported_side, plain_session, inputs, false);
    const CallResults actual = run_call(changed_side, changed_session, inputs, false);
    compare_call(actual.tensors, reference.tensors, 0, compared);
  }
  gain.sqnr = std::numeric_limits<double>::infinity();
  for (const ResultDeviation& r : compared.results) {
    if (!r.mismatch.empty() || r.deviation.sqnr() >= gain.sqnr) continue;
    gain.sqnr = r.deviation.sqnr();
    gain.largest_error = r.deviation.relative();
  }
  // Equal results come from equal kernels: a difference of time is noise.
  if (std::isinf(gain.sqnr)) return std::nullopt;
  const auto turn_count = static_cast<std::size_t>(
      std::clamp(kGainSeconds / (2 * std::max(median_seconds, 1e-6)), double(kMinTurns), double(kMaxTurns)));
  std::vector<double> times[2];
  for (std::size_t turn = 0; turn < turn_count; ++turn) {
    for (const std::size_t side : {turn % 2, 1 - turn % 2})
      times[side].push_back(seconds_of_run(exported_side, side == 0 ? plain_session : changed_session, inputs));
  }
  gain.seconds_before = median(times[0]);
  gain.seconds_after = median(times[1]);
  return gain;
}

Gains measure_gains(const Side& exported_side, GainsChoice choice, const std::vector<Tensor>& inputs,
                    double median_seconds) {
  Gains gains;
  if (choice == GainsChoice::none || exported_side.options.device != "cpu" || exported_side.options.reproducible)
    return gains;
  if (exported_side.options.precision == Precision::exported)
    gains.precision = measure_precision(exported_side, Precision::automatic, inputs, median_seconds);
  if (choice == GainsChoice::full) gains.tune = measure_tuning(exported_side);
  return gains;
}

std::string gains_text(const Gains& gains) {
  std::string text;
  if (const auto& p = gains.precision; p && is_worth_saying(p->seconds_before, p->seconds_after)) {
    const std::string error = fmt::format(", with {:.1f} dB and an error of {:.2g} % of the largest element", p->sqnr,
                                          100 * p->largest_error);
    text += gain_line("--precision auto", p->seconds_before, p->seconds_after, error);
  }
  if (const auto& t = gains.tune; t && is_worth_saying(t->seconds_before, t->seconds_after)) {
    text += gain_line("tern export --tune", t->seconds_before, t->seconds_after,
                      fmt::format(", with other algorithms for {} kind{} of nodes{}", t->kinds,
                                  t->kinds == 1 ? "" : "s", t->complete ? "" : "; more were left"));
  }
  return text;
}

nlohmann::ordered_json gains_json(const Gains& gains) {
  nlohmann::ordered_json document = {{"precision", nullptr}, {"tune", nullptr}};
  if (const auto& p = gains.precision) {
    document["precision"] = {{"type", name_of(p->precision)},
                             {"before_ms", json_rounded(p->seconds_before * 1e3, 4)},
                             {"after_ms", json_rounded(p->seconds_after * 1e3, 4)},
                             {"sqnr_db", json_rounded(p->sqnr, 2)},
                             {"largest_error", json_rounded(p->largest_error, 6)}};
  }
  if (const auto& t = gains.tune) {
    document["tune"] = {{"before_ms", json_rounded(t->seconds_before * 1e3, 4)},
                        {"after_ms", json_rounded(t->seconds_after * 1e3, 4)},
                        {"kinds", t->kinds},
                        {"complete", t->complete}};
  }
  return document;
}

}  // namespace tern
