#include "platform/process.h"

#include <sys/event.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "platform/file.h"
#include "platform/posix/start.h"

namespace tern::platform {

void end_with_parent() {
  std::thread([parent = ::getppid()] {
    const File queue(::kqueue());
    struct kevent watched {
    }, event{};
    EV_SET(&watched, static_cast<uintptr_t>(parent), EVFILT_PROC, EV_ADD, NOTE_EXIT, 0, nullptr);
    if (::kevent(static_cast<int>(queue.handle()), &watched, 1, &event, 1, nullptr) == 1) std::_Exit(1);
  }).detach();
}

bool has_desktop() {
  return std::getenv("SSH_CONNECTION") == nullptr;
}

bool open_on_desktop(const std::string& path) {
  return start_program("open", path);
}

}  // namespace tern::platform
