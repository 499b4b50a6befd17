#include "platform/socket.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platform/posix/socket_system.h"

namespace tern::platform {

const int kSendFlags = MSG_NOSIGNAL;
const short kPollHangUp = POLLRDHUP;

int create_socket(int family, int type, int protocol) {
  return ::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
}

int accept_socket(int listener) {
  return ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

Wake::Wake() : handle_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Wake::~Wake() {
  ::close(static_cast<int>(handle_));
}

void Wake::set() const {
  ::eventfd_write(static_cast<int>(handle_), 1);
}

void Wake::clear() const {
  eventfd_t count = 0;
  ::eventfd_read(static_cast<int>(handle_), &count);
}

}  // namespace tern::platform
