// Exit statuses of the command: a single table for the command, its --help and its manual pages.
#pragma once

#include <span>
#include <string>

namespace tern {

struct ExitCode {
  int status;
  const char* meaning;
  int severity;  ///< the highest severity of several files decides
};

std::span<const ExitCode> exit_codes();

/// Failures end with the value of their ErrorCode (3 for an unreadable file ...).
inline constexpr int kExitFindings = 1;  ///< a completed check has findings
inline constexpr int kExitUsage = 2;     ///< wrong options or arguments, as ErrorCode::invalid_argument

inline constexpr int kExitInterrupted = 130;  ///< Ctrl-C, by shell convention: 128 + SIGINT
inline constexpr int kExitReaderGone = 141;   ///< 128 + SIGPIPE
inline constexpr int kExitTerminated = 143;   ///< 128 + SIGTERM

/// The more severe of two statuses: the exit status of a command with several files.
int worse_exit(int a, int b);

/// "  0  done\n  1  ...": the table as lines of text.
std::string exit_codes_text();

}  // namespace tern
