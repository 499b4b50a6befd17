#include "platform/socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platform/posix/pipe.h"
#include "platform/posix/socket_system.h"

namespace tern::platform {
namespace {

int prepared(int socket) {
  if (socket < 0) return socket;
  const int yes = 1;
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
  ::fcntl(socket, F_SETFL, O_NONBLOCK);
  ::setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &yes, sizeof yes);
  return socket;
}

}  // namespace

const int kSendFlags = 0;
const short kPollHangUp = POLLHUP;

int create_socket(int family, int type, int protocol) {
  return prepared(::socket(family, type, protocol));
}

int accept_socket(int listener) {
  return prepared(::accept(listener, nullptr, nullptr));
}

Wake::Wake() {
  int ends[2];
  if (!make_pipe(ends)) return;
  for (const int end : ends) ::fcntl(end, F_SETFL, O_NONBLOCK);
  handle_ = ends[0];
  writer_ = ends[1];
}

Wake::~Wake() {
  ::close(static_cast<int>(handle_));
  ::close(static_cast<int>(writer_));
}

void Wake::set() const {
  const char byte = 0;
  [[maybe_unused]] const ssize_t count = ::write(static_cast<int>(writer_), &byte, 1);
}

void Wake::clear() const {
  char bytes[64];
  while (::read(static_cast<int>(handle_), bytes, sizeof bytes) > 0) {
  }
}

}  // namespace tern::platform
