#include "tools/view/browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace tern::view {
namespace {

/// Starts a program without a shell. Discards the browser's output.
bool start(std::string command, std::string argument) {
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&files, stream, "/dev/null", O_RDWR, 0);
  posix_spawnattr_t how;
  ::posix_spawnattr_init(&how);
  sigset_t all, none;
  ::sigfillset(&all);
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigdefault(&how, &all);
  ::posix_spawnattr_setsigmask(&how, &none);
  ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  char* const words[] = {command.data(), argument.data(), nullptr};
  pid_t child = 0;
  const bool started = ::posix_spawnp(&child, command.c_str(), &files, &how, words, environ) == 0;
  ::posix_spawnattr_destroy(&how);
  ::posix_spawn_file_actions_destroy(&files);
  return started;
}

}  // namespace

std::string Browser::write_file(const std::string& address) {
  std::error_code error;
  std::string folder = (std::filesystem::temp_directory_path(error) / "tern-view-XXXXXX").string();
  if (error || ::mkdtemp(folder.data()) == nullptr) return {};  // 0700
  folder_ = folder;
  const std::string path = folder + "/open.html";
  const std::string text =
      "<!doctype html><meta charset=\"utf-8\"><title>tern view</title>\n<meta http-equiv=\"refresh\" " +
      ("content=\"0; url=" + address + "\">\n<a href=\"" + address + "\">tern view</a>\n");
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return {};
  const bool whole = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  return ::close(file) == 0 && whole ? path : std::string();
}

bool Browser::open(const std::string& address) {
  if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr) return false;
  const std::string path = write_file(address);
  return !path.empty() && start("xdg-open", path);
}

void Browser::forget() {
  if (folder_.empty()) return;
  std::error_code error;
  std::filesystem::remove(folder_ + "/open.html", error);
  std::filesystem::remove(folder_, error);
  folder_.clear();
}

}  // namespace tern::view
