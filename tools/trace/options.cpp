#include "tools/trace/options.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>

#include "platform/environment.h"
#include "tools/text.h"

namespace tern {
namespace {

/// A number from a launcher's environment variable (torchrun, mpirun); else `otherwise`.
int number_of_environment(const char* name, int otherwise) {
  const std::string text = platform::trusted_variable(name).value_or("");
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? number : otherwise;
}

}  // namespace

void add_trace_options(Command command, TraceChoice& choice) {
  command
      .add_option("--trace", choice.path,
                  "Write what runs do to this file, in the JSON of PyTorch's profiler: for 'tern trace', Perfetto and "
                  "chrome://tracing. FILE.json.gz is compressed (docs/traces.md)")
      .type_name("FILE");
  command
      .add_option("--trace-memory", choice.memory,
                  "Limit for events that wait to be written: bytes, or 64MB; more events are dropped and counted")
      .as_bytes()
      .type_name("BYTES")
      .capture_default_str();
}

ChosenTrace::ChosenTrace(const TraceChoice& choice) : path_(choice.path) {
  if (path_.empty()) return;
  TraceOptions options;
  options.memory = choice.memory;
  const int ranks = number_of_environment("WORLD_SIZE", 1), rank = number_of_environment("RANK", 0);
  if (ranks > 1 && rank >= 0 && rank < ranks) {
    options.world_size = ranks;
    options.rank = rank;
    options.backend = "tern";
  }
  trace_.emplace(path_, options);
}

void ChosenTrace::finish() {
  if (!trace_) return;
  const TraceStats stats = trace_->stop();
  trace_.reset();
  if (stats.dropped > 0)
    fmt::print(stderr, "tern: {}: {} events were dropped, {} written: increase --trace-memory\n", escape_name(path_),
               stats.dropped, stats.events);
  if (stats.unnamed > 0)
    fmt::print(stderr, "tern: {}: {} events lost their names: increase --trace-memory\n", escape_name(path_),
               stats.unnamed);
}

}  // namespace tern
