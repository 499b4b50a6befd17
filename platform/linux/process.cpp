#include "platform/process.h"

#include <sys/prctl.h>

#include <csignal>
#include <cstdlib>

#include "platform/posix/start.h"

namespace tern::platform {

void end_with_parent() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

bool has_desktop() {
  return std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr;
}

bool open_on_desktop(const std::string& path) {
  return start_program("xdg-open", path);
}

}  // namespace tern::platform
