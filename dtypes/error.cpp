// The one place that throws, so that a debugger has one place to stop.
#include <tern/error.h>

#include "dtypes/printable.h"

namespace tern {

void fail(ErrorCode code, const std::string& message) {
  // A message has one line, and quotes names of files: a line break in one would forge lines of ours.
  throw Error(code, printable(message));
}

}  // namespace tern
