#include "tools/serve/metrics.h"

#include <fmt/format.h>

#include <initializer_list>

namespace tern::serve {
namespace {

struct Metric {
  const char *name, *type, *help;
  double value;
};

double count(std::uint64_t n) {
  return static_cast<double>(n);
}

std::string lines_of(std::initializer_list<Metric> metrics) {
  std::string text;
  for (const Metric& m : metrics)
    text += fmt::format("# HELP {0} {1}.\n# TYPE {0} {2}\n{0} {3}\n", m.name, m.help, m.type, m.value);
  return text;
}

}  // namespace

std::string metrics_text(const TextEngineStats& s, std::int64_t slots) {
  return lines_of({
      {"tern_requests_total", "counter", "Requests to the engine", count(s.requests)},
      {"tern_requests_finished_total", "counter", "Requests that ended in any way", count(s.finished)},
      {"tern_requests_waiting", "gauge", "Requests without a slot", count(s.waiting)},
      {"tern_requests_running", "gauge", "Requests in slots", count(s.running)},
      {"tern_slots", "gauge", "Slots of the archive", static_cast<double>(slots)},
      {"tern_prompt_tokens_total", "counter", "Tokens of prompts", count(s.prompt_tokens)},
      {"tern_shared_tokens_total", "counter", "Tokens of prompts found in the cache", count(s.shared_tokens)},
      {"tern_answer_tokens_total", "counter", "Tokens of answers", count(s.answer_tokens)},
      {"tern_proposed_tokens_total", "counter", "Tokens checked before the model chose them", count(s.proposed_tokens)},
      {"tern_accepted_tokens_total", "counter", "Proposed tokens in answers", count(s.accepted_tokens)},
      {"tern_prefills_total", "counter", "Runs that read parts of prompts", count(s.prefills)},
      {"tern_steps_total", "counter", "Runs that advanced answers by a token", count(s.steps)},
      {"tern_prefill_seconds_total", "counter", "Seconds of the runs that read prompts", s.prefill_seconds},
      {"tern_step_seconds_total", "counter", "Seconds of the runs that advanced answers", s.step_seconds},
  });
}

std::string metrics_text(const TextEmbedderStats& s) {
  return lines_of({
      {"tern_embedded_texts_total", "counter", "Texts turned into vectors", count(s.texts)},
      {"tern_embedded_tokens_total", "counter", "Tokens of these texts", count(s.tokens)},
      {"tern_embedding_runs_total", "counter", "Runs of the embedder", count(s.runs)},
      {"tern_embedding_seconds_total", "counter", "Seconds of the runs of the embedder", s.run_seconds},
  });
}

std::string metrics_text(const std::map<int, std::uint64_t>& statuses) {
  std::string text = "# HELP tern_http_replies_total HTTP replies.\n# TYPE tern_http_replies_total counter\n";
  for (const auto& [status, number] : statuses)
    text += fmt::format("tern_http_replies_total{{status=\"{}\"}} {}\n", status, number);
  return text;
}

}  // namespace tern::serve
