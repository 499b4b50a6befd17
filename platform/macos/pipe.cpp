#include "platform/posix/pipe.h"

#include <fcntl.h>
#include <unistd.h>

namespace tern::platform {

bool make_pipe(int (&ends)[2]) {
  if (::pipe(ends) != 0) return false;
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  return true;
}

}  // namespace tern::platform
