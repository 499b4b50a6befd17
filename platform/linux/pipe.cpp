#include "platform/posix/pipe.h"

#include <fcntl.h>
#include <unistd.h>

namespace tern::platform {

bool make_pipe(int (&ends)[2]) {
  return ::pipe2(ends, O_CLOEXEC) == 0;
}

}  // namespace tern::platform
