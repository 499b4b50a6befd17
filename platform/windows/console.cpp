#include "platform/console.h"

#include <fcntl.h>
#include <io.h>

#include <algorithm>
#include <cstdio>

#include "platform/windows/system.h"

namespace tern::platform {
namespace {

HANDLE stream_handle(int stream) {
  constexpr DWORD kNames[] = {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
  return ::GetStdHandle(kNames[stream]);
}

bool console_mode(int stream, DWORD* mode) {
  return ::GetConsoleMode(stream_handle(stream), mode) != 0;
}

/// Input of the console as UTF-8: ReadFile knows only the console's code page.
struct ConsoleInput {
  std::string unread;  ///< bytes of lines that no read has taken
  bool has_ended = false;

  static ConsoleInput& shared() {
    static ConsoleInput input;
    return input;
  }

  enum class Result { available, interrupted, failed };
  /// Waits for a line, if none is unread. Ctrl-Z at the beginning of a line ends the input.
  Result wait() {
    if (!unread.empty() || has_ended) return Result::available;
    std::wstring line(4096, L'\0');
    DWORD count = 0;
    ::SetLastError(ERROR_SUCCESS);
    if (::ReadConsoleW(stream_handle(0), line.data(), static_cast<DWORD>(line.size()), &count, nullptr) == 0)
      return Result::failed;
    if (count == 0 && ::GetLastError() == ERROR_OPERATION_ABORTED) return Result::interrupted;  // by Ctrl-C
    constexpr wchar_t kEnd = 0x1a;
    has_ended = count == 0 || line[0] == kEnd;
    if (has_ended) return Result::available;
    unread = narrow({line.data(), count});
    std::erase(unread, '\r');
    return Result::available;
  }
};

}  // namespace

void prepare_streams() {
  std::FILE* const streams[] = {stdin, stdout, stderr};
  for (std::FILE* stream : streams) {
    if (::_fileno(stream) >= 0) ::_setmode(::_fileno(stream), _O_BINARY);
  }
  for (const int stream : {1, 2}) {
    DWORD mode = 0;
    if (!console_mode(stream, &mode)) continue;
    ::SetConsoleOutputCP(CP_UTF8);
    ::SetConsoleMode(stream_handle(stream), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
  }
}

std::vector<std::string> command_arguments(int argc, char** argv) {
  int count = 0;
  wchar_t** const words = ::CommandLineToArgvW(::GetCommandLineW(), &count);
  if (words == nullptr) return {argv, argv + argc};
  std::vector<std::string> arguments;
  for (int i = 0; i < count; ++i) arguments.push_back(narrow(words[i]));
  ::LocalFree(words);
  return arguments;
}

bool is_console(int stream) {
  DWORD mode = 0;
  return console_mode(stream, &mode);
}

std::size_t console_columns(int stream) {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  if (::GetConsoleScreenBufferInfo(stream_handle(stream), &info) == 0) return 0;
  return static_cast<std::size_t>(std::max(0, info.srWindow.Right - info.srWindow.Left + 1));
}

std::int64_t read_input(std::span<std::byte> bytes) {
  if (is_console(0)) {
    ConsoleInput& input = ConsoleInput::shared();
    while (true) {
      const ConsoleInput::Result result = input.wait();
      if (result == ConsoleInput::Result::failed) return -1;
      if (result == ConsoleInput::Result::available) break;
    }
    const std::size_t size = std::min(input.unread.size(), bytes.size());
    std::copy_n(reinterpret_cast<const std::byte*>(input.unread.data()), size, bytes.begin());
    input.unread.erase(0, size);
    return static_cast<std::int64_t>(size);
  }
  DWORD count = 0;
  const auto size = static_cast<DWORD>(std::min<std::size_t>(bytes.size(), 1 << 30));
  if (::ReadFile(stream_handle(0), bytes.data(), size, &count, nullptr) != 0) return count;
  return ::GetLastError() == ERROR_BROKEN_PIPE ? 0 : -1;
}

bool wait_for_input() {
  return !is_console(0) || ConsoleInput::shared().wait() != ConsoleInput::Result::interrupted;
}

bool write_stream(int stream, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    DWORD count = 0;
    const auto size = static_cast<DWORD>(std::min<std::size_t>(bytes.size(), 1 << 30));
    if (::WriteFile(stream_handle(stream), bytes.data(), size, &count, nullptr) == 0) return false;
    bytes = bytes.subspan(count);
  }
  return true;
}

void ignore_write_signals() {}  // Windows has none

bool is_broken_pipe(int error) {
  return error == ERROR_BROKEN_PIPE || error == ERROR_NO_DATA;
}

bool reader_has_gone() {
  const HANDLE output = stream_handle(1);
  DWORD count = 0;
  return ::GetFileType(output) == FILE_TYPE_PIPE && ::WriteFile(output, "", 0, &count, nullptr) == 0 &&
         is_broken_pipe(static_cast<int>(::GetLastError()));
}

void end_as_broken_pipe() {}

int lost_output(bool* is_closed) {
  *is_closed = ::GetFileType(stream_handle(1)) == FILE_TYPE_UNKNOWN;
  return 0;
}

}  // namespace tern::platform
