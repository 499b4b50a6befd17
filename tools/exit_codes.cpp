#include "tools/exit_codes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tern {
namespace {

constexpr std::array kCodes = {
    ExitCode{0, "success", 0},
    ExitCode{1,
             "a check found something wrong: validate (a file breaks its format), conform (a case failed), verify (a "
             "limit is not met), ops (no match), export (--target-sqnr is not reached)",
             2},
    ExitCode{2, "wrong command, option or argument", 3},
    ExitCode{3, "a file or standard output cannot be read or written", 4},
    ExitCode{4, "a file breaks the rules of its format", 5},
    ExitCode{5, "the file is valid, but this version of Tern cannot run it (an unknown op, a newer format)", 1},
    ExitCode{6, "the program failed while it ran (an index out of range, a failed assertion)", 6},
    ExitCode{7, "out of memory", 7},
    ExitCode{8, "a defect of Tern", 8},
    ExitCode{kExitInterrupted, "Ctrl-C stopped train, which wrote a checkpoint", 7},
    ExitCode{kExitReaderGone, "the reader of the output closed the pipe (SIGPIPE), as 'head' does", 7},
    ExitCode{kExitTerminated, "SIGTERM stopped train, which wrote a checkpoint", 7},
};

int severity(int status) {
  const auto* found = std::ranges::find(kCodes, status, &ExitCode::status);
  return found == kCodes.end() ? status : found->severity;
}

}  // namespace

std::span<const ExitCode> exit_codes() {
  return kCodes;
}

int worse_exit(int a, int b) {
  return severity(a) >= severity(b) ? a : b;
}

std::string exit_codes_text() {
  std::string text;
  for (const ExitCode& c : kCodes) text += fmt::format("  {}  {}\n", c.status, c.meaning);
  return text;
}

}  // namespace tern
