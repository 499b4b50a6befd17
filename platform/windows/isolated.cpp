#include "platform/isolated.h"

#include <cstdio>

#include "platform/library.h"
#include "platform/process.h"

namespace tern::platform {
namespace {

/// Stands before and behind the text: drivers print, too.
constexpr std::string_view kMark = "\x1etern isolated text\x1e";

}  // namespace

IsolatedResult run_isolated(std::chrono::milliseconds limit, const std::function<std::string()>& /*work*/,
                            const std::vector<std::string>& again) {
  constexpr std::size_t kMaxOutput = std::size_t{16} << 20;
  const ProcessResult run = run_process(program_file(), again, limit, {}, kMaxOutput);
  IsolatedResult result;
  const std::size_t begin = run.output.find(kMark), end = run.output.rfind(kMark);
  if (!run.problem.empty()) {
    result.problem = run.problem;
  } else if (run.is_late) {
    result.problem = "it did not finish within " +
                     std::to_string(std::chrono::duration_cast<std::chrono::seconds>(limit).count()) + " s";
  } else if (!run.crash.empty()) {
    result.problem = "it crashed (" + run.crash + ")";
  } else if (run.status != 0 || begin == end) {
    result.problem = "it ended the process with status " + std::to_string(run.status);
  } else {
    result.text = run.output.substr(begin + kMark.size(), end - begin - kMark.size());
  }
  return result;
}

void write_isolated(const std::string& text) {
  for (const std::string_view part : {kMark, std::string_view(text), kMark}) {
    std::fwrite(part.data(), 1, part.size(), stdout);
  }
  std::fflush(stdout);
}

}  // namespace tern::platform
