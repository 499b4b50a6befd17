// Standard output: what cannot be written is an error, not silence.
#pragma once

#include <string>
#include <string_view>

namespace tern {

/// Prints to standard output, or to the OutputText of this thread.
void print_output(std::string_view text);
/// The same for standard error.
void print_problem(std::string_view text);

/// Takes what this thread prints by the functions above, for programs that call a command in their own process.
class OutputText {
 public:
  OutputText();
  ~OutputText();
  OutputText(const OutputText&) = delete;
  OutputText& operator=(const OutputText&) = delete;
  std::string text;

 private:
  OutputText* outer_;
};

/// True if a program takes what this thread prints: then the process is not this command's own.
bool output_is_taken();

/// Makes a closed pipe a failed write rather than the end of the process: what a command has begun, it can clean up.
/// Call once, before anything is written.
void keep_write_errors();

/// True when something printed to standard output has failed to reach it.
bool output_failed();

/// True when standard output is a pipe whose reader has gone, as 'head' does.
bool reader_has_gone();

/// Ends the process as SIGPIPE does, quietly. Returns the status of that where the signal is blocked.
int end_without_reader();

/// Flushes and closes standard output. Returns why what was printed is not there; empty when all of it is.
std::string finish_output();

}  // namespace tern
