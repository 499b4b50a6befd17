// --trace of the subcommands running programs.
#pragma once

#include <tern/trace.h>

#include <optional>
#include <string>

#include "tools/options.h"

namespace tern {

struct TraceChoice {
  std::string path;  ///< empty: no trace
  std::uint64_t memory = TraceOptions{}.memory;
};

void add_trace_options(Command command, TraceChoice& choice);

/// Records a trace during its lifetime, if requested. A failed run leaves a trace of its events.
class ChosenTrace {
 public:
  explicit ChosenTrace(const TraceChoice& choice);
  /// Writes the file; reports the number of dropped events on standard error.
  void finish();

 private:
  std::string path_;
  std::optional<Trace> trace_;
};

}  // namespace tern
