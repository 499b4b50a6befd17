// Arbitrary bytes as a trace: a consistent summary, or an Error that blames the file.
#include <tern/error.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "tools/trace/summary.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tern;
  try {
    std::istringstream text(std::string(reinterpret_cast<const char*>(data), size));
    const TraceSummary s = summarize_trace(load_trace(text, "input"));
    if (s.ops + s.kernels + s.copies + s.runs > s.events || s.path_length < 0) std::abort();
    for (const TraceBusy& b : s.busy) {
      if (b.span < 0 || b.compute < 0) std::abort();
    }
    if (trace_text(s, 10).empty() || trace_json(s).empty()) std::abort();
  } catch (const Error& e) {
    if (e.code() != ErrorCode::bad_file) std::abort();
  }
  return 0;
}
