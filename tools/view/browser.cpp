#include "tools/view/browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cstdlib>

namespace tern::view {

bool open_browser(const std::string& address) {
  if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr) return false;
  // Without a shell: the address is one argument. What the browser prints is not the command's.
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&files, stream, "/dev/null", O_RDWR, 0);
  std::string command = "xdg-open", argument = address;
  char* const words[] = {command.data(), argument.data(), nullptr};
  pid_t child = 0;
  const bool started = ::posix_spawnp(&child, command.c_str(), &files, nullptr, words, environ) == 0;
  ::posix_spawn_file_actions_destroy(&files);
  return started;
}

}  // namespace tern::view
