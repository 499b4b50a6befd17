// Standard output with error checks: a failed write is an error.
#pragma once

#include <string>
#include <string_view>

namespace tern {

/// Prints to standard output, or to the OutputText of this thread.
void print_output(std::string_view text);
/// The same for standard error.
void print_problem(std::string_view text);

/// Captures this thread's output through the functions above, for programs calling a command in their own process.
class OutputText {
 public:
  OutputText();
  ~OutputText();
  OutputText(const OutputText&) = delete;
  OutputText& operator=(const OutputText&) = delete;
  std::string text;

 private:
  OutputText* outer_output_;
};

/// True if a program captures this thread's output: then the process is not this command's own.
bool output_is_taken();

/// True after a failed write to standard output.
bool output_failed();

/// Ends the process like SIGPIPE, quietly. Returns SIGPIPE's exit status if the signal is blocked, or unknown to the
/// system.
int end_without_reader();

/// Flushes and closes standard output. Returns the reason of lost output; empty if all output was written.
std::string finish_output();

}  // namespace tern
