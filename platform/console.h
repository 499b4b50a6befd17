// Standard streams and the console. Streams have the numbers 0 (input), 1 (output) and 2 (problems).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tern::platform {

/// Prepares the streams of a command: opens closed ones, because an opened file must not get their numbers (writing to
/// a closed stream still fails); turns off all translations of bytes; sets a Windows console to UTF-8 and to ANSI
/// escape sequences.
void prepare_streams();
/// Arguments of main() in UTF-8, the program's name included.
std::vector<std::string> command_arguments(int argc, char** argv);

bool is_console(int stream);
/// Width of the console in characters; 0 if the stream is no console.
std::size_t console_columns(int stream);

/// Reads some bytes of standard input. Returns their number, 0 at the end, -1 after a failure.
std::int64_t read_input(std::span<std::byte> bytes);
/// Waits for standard input. Returns false if a signal, or Ctrl-C, arrives first.
bool wait_for_input();
/// Writes all bytes to the stream, or returns false.
bool write_stream(int stream, std::span<const std::byte> bytes);
inline bool write_stream(int stream, std::string_view text) {
  return write_stream(stream, std::as_bytes(std::span(text)));
}

/// Ignores signals about failed writes, which would end the process: a closed pipe, too large a file.
void ignore_write_signals();
/// True if a failed write had no reader: its pipe is closed.
bool is_broken_pipe(int error);
/// True if standard output is a pipe with a closed read end.
bool reader_has_gone();
/// Ends the process like a write to a closed pipe, if the system ends processes so; returns otherwise.
void end_as_broken_pipe();
/// Number of the error of output lost after it was written (network file systems); 0 if none is known. `is_closed`:
/// true if standard output is closed.
int lost_output(bool* is_closed);

}  // namespace tern::platform
