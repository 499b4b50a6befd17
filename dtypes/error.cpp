// The one place that throws, so that a debugger has one place to stop.
#include <tern/error.h>

#include "dtypes/printable.h"

namespace tern {

void fail(ErrorCode code, const std::string& message) {
  throw Error(code, printable_lines(message));  // the message quotes names of files
}

}  // namespace tern
