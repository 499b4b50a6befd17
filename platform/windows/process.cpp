#include "platform/process.h"

#include <algorithm>
#include <array>
#include <memory>
#include <thread>

#include "platform/environment.h"
#include "platform/error.h"
#include "platform/file.h"
#include "platform/path.h"
#include "platform/windows/system.h"

namespace tern::platform {
namespace {

/// Quotes an argument as CommandLineToArgvW and the C library split it: backslashes are special before quotes only.
std::wstring quoted(const std::wstring& argument) {
  if (!argument.empty() && argument.find_first_of(L" \t\n\v\"") == std::wstring::npos) return argument;
  std::wstring text = L"\"";
  std::size_t backslashes = 0;
  for (const wchar_t c : argument) {
    if (c == L'"') text.append(backslashes + 1, L'\\');
    backslashes = c == L'\\' ? backslashes + 1 : 0;
    text += c;
  }
  return text.append(backslashes, L'\\') + L'"';
}

/// Environment of this process with further variables: "NAME=VALUE" texts, each ended by 0, and a last 0.
std::wstring environment_with(const EnvironmentVariables& variables) {
  std::wstring block;
  for (const auto& [name, value] : variables) block += wide(name + "=" + value) + L'\0';
  wchar_t* const own = ::GetEnvironmentStringsW();
  for (const wchar_t* at = own; at != nullptr && *at != L'\0';) {
    const std::wstring_view entry = at;
    const bool is_replaced = std::ranges::any_of(variables, [&](const auto& v) {
      const std::wstring start = wide(v.first + "=");
      const auto size = static_cast<int>(start.size());
      return entry.size() >= start.size() &&
             ::CompareStringOrdinal(entry.data(), size, start.data(), size, TRUE) == CSTR_EQUAL;
    });
    if (!is_replaced) block.append(entry) += L'\0';
    at += entry.size() + 1;
  }
  ::FreeEnvironmentStringsW(own);
  return block += L'\0';
}

/// Name of an exception that ended a process, by its exit status.
std::string crash_of(DWORD status) {
  struct Crash {
    DWORD status;
    const char* name;
  };
  static constexpr Crash kCrashes[] = {{0xC0000005, "Access violation"},     {0xC000001D, "Illegal instruction"},
                                       {0xC0000094, "Division by zero"},     {0xC00000FD, "Stack overflow"},
                                       {0xC0000374, "Heap corruption"},      {0xC0000409, "Aborted"},
                                       {0xC0000135, "A library is missing"}, {0xC0000139, "A function is missing"},
                                       {0xC0000017, "Out of memory"},        {0xC000013A, "Interrupted"}};
  for (const Crash& c : kCrashes) {
    if (c.status == status) return c.name;
  }
  constexpr DWORD kError = 0xC0000000;
  return status >= kError ? "exception " + std::to_string(status) : std::string();
}

/// Kills its processes when it closes.
File make_job() {
  File job(reinterpret_cast<File::Handle>(::CreateJobObjectW(nullptr, nullptr)));
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
  limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
  ::SetInformationJobObject(handle_of(job), JobObjectExtendedLimitInformation, &limits, sizeof limits);
  return job;
}

/// Handles that a started process inherits; no other handle of this process leaks.
class InheritedHandles {
 public:
  explicit InheritedHandles(std::vector<HANDLE> handles) : handles_(std::move(handles)) {
    SIZE_T size = 0;
    ::InitializeProcThreadAttributeList(nullptr, 1, 0, &size);
    memory_ = std::make_unique<std::byte[]>(size);
    ::InitializeProcThreadAttributeList(list(), 1, 0, &size);
    for (HANDLE handle : handles_) ::SetHandleInformation(handle, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    ::UpdateProcThreadAttribute(list(), 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, handles_.data(),
                                handles_.size() * sizeof(HANDLE), nullptr, nullptr);
  }
  ~InheritedHandles() { ::DeleteProcThreadAttributeList(list()); }
  InheritedHandles(const InheritedHandles&) = delete;
  InheritedHandles& operator=(const InheritedHandles&) = delete;
  LPPROC_THREAD_ATTRIBUTE_LIST list() const { return reinterpret_cast<LPPROC_THREAD_ATTRIBUTE_LIST>(memory_.get()); }

 private:
  std::vector<HANDLE> handles_;
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace

std::string find_program(const std::string& name) {
  for (const std::string& folder : split_paths(trusted_variable("PATH").value_or(""))) {
    for (const char* ending : {"", ".exe"}) {
      std::string file = folder + "\\" + name + ending;
      if (can_execute(file)) return file;
    }
  }
  return {};
}

ProcessResult run_process(const std::string& path, const std::vector<std::string>& arguments,
                          std::chrono::milliseconds limit, const EnvironmentVariables& variables,
                          std::size_t max_output) {
  ProcessResult result;
  const auto fail_with = [&](const std::string& what) {
    result.problem = what + ": " + error_text(last_error());
    return result;
  };
  HANDLE read_handle = nullptr, write_handle = nullptr;
  if (::CreatePipe(&read_handle, &write_handle, nullptr, 0) == 0) return fail_with("cannot create a pipe");
  const File read_end(reinterpret_cast<File::Handle>(read_handle));
  File write_end(reinterpret_cast<File::Handle>(write_handle));
  const File null = open_shared(L"NUL", GENERIC_READ, OPEN_EXISTING, 0);
  const InheritedHandles inherited({handle_of(null), write_handle});
  STARTUPINFOEXW start{};
  start.StartupInfo.cb = sizeof start;
  start.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
  start.StartupInfo.hStdInput = handle_of(null);
  start.StartupInfo.hStdOutput = start.StartupInfo.hStdError = write_handle;
  start.lpAttributeList = inherited.list();
  const std::wstring program = wide_path(path);
  std::wstring line = quoted(program);
  for (const std::string& argument : arguments) line += L' ' + quoted(wide(argument));
  std::wstring environment = environment_with(variables);
  PROCESS_INFORMATION started{};
  constexpr DWORD kFlags =
      CREATE_UNICODE_ENVIRONMENT | CREATE_SUSPENDED | CREATE_NO_WINDOW | EXTENDED_STARTUPINFO_PRESENT;
  if (::CreateProcessW(program.c_str(), line.data(), nullptr, nullptr, TRUE, kFlags, environment.data(), nullptr,
                       &start.StartupInfo, &started) == 0)
    return fail_with("cannot run " + path);
  const File process(reinterpret_cast<File::Handle>(started.hProcess)),
      thread(reinterpret_cast<File::Handle>(started.hThread));
  File job = make_job();
  ::AssignProcessToJobObject(handle_of(job), started.hProcess);
  ::ResumeThread(started.hThread);
  write_end.close();
  // Anonymous pipes have no time limit: a thread reads, and ends once the last writer has ended.
  std::thread reader([&] {
    std::array<std::byte, 4096> piece;
    for (std::int64_t count = 0; (count = read_end.read(piece)) > 0;) {
      const auto size = std::min(static_cast<std::size_t>(count), max_output - result.output.size());
      result.output.append(reinterpret_cast<const char*>(piece.data()), size);
    }
  });
  constexpr std::int64_t kLongest = 0x7fffffff;
  const auto milliseconds = static_cast<DWORD>(std::clamp<std::int64_t>(limit.count(), 0, kLongest));
  result.is_late = ::WaitForSingleObject(started.hProcess, milliseconds) == WAIT_TIMEOUT;
  if (result.is_late) {
    ::TerminateJobObject(handle_of(job), 1);
    ::WaitForSingleObject(started.hProcess, INFINITE);
  }
  job.close();  // ends descendants, which may hold the pipe open
  reader.join();
  DWORD status = 0;
  ::GetExitCodeProcess(started.hProcess, &status);
  result.crash = crash_of(status);
  constexpr int kSignals = 256;
  result.status = result.crash.empty() ? static_cast<int>(status) : kSignals + static_cast<int>(status & 0xff);
  return result;
}

bool is_running(long process_number) {
  const File process(reinterpret_cast<File::Handle>(
      ::OpenProcess(SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION, FALSE, static_cast<DWORD>(process_number))));
  // OpenProcess returns null after a failure: access denied means that the process exists.
  if (process.handle() == 0) return ::GetLastError() == ERROR_ACCESS_DENIED;
  return ::WaitForSingleObject(handle_of(process), 0) == WAIT_TIMEOUT;
}

void end_with_parent() {
  // run_process() puts programs into a job that ends with its parent.
}

bool has_desktop() {
  return ::GetShellWindow() != nullptr;
}

bool open_on_desktop(const std::string& path) {
  constexpr INT_PTR kLargestError = 32;
  return reinterpret_cast<INT_PTR>(::ShellExecuteW(nullptr, L"open", wide_path(path).c_str(), nullptr, nullptr,
                                                   SW_SHOWNORMAL)) > kLargestError;
}

}  // namespace tern::platform
